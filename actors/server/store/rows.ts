import type { Table } from './columns.ts';
import type * as tables from './tables.ts';

/* The rows as the program holds them: each is what the columns of its table are defined as. */

type Row<T> = T extends Table<infer Of> ? Of : never;

export type { JobRow } from './job-table.ts';
export type TaskRow = Row<typeof tables.TASKS>;
export type WorkerRow = Row<typeof tables.WORKERS>;
export type ArtifactRow = Row<typeof tables.ARTIFACTS>;
export type TaskArtifactRow = Row<typeof tables.TASK_ARTIFACTS>;
export type JobInputRow = Row<typeof tables.JOB_INPUTS>;
export type EventRow = Row<typeof tables.EVENTS>;
export type RequirementRow = Row<typeof tables.REQUIREMENTS>;
export type PauseRow = Row<typeof tables.PAUSES>;
export type NotificationRow = Row<typeof tables.NOTIFICATIONS>;
export type MinuteRow = Row<typeof tables.MINUTES>;
export type TallyRow = Row<typeof tables.TALLY>;
export type ComputedRow = Row<typeof tables.COMPUTED>;
export type ChoiceRow = Row<typeof tables.CHOICES>;
export type VariantsRow = Row<typeof tables.JOB_VARIANTS>;
