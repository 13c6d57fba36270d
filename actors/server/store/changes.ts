import type { SqlValue } from './columns.ts';
import type {
  ArtifactRow,
  ChoiceRow,
  ComputedRow,
  EventRow,
  JobInputRow,
  JobRow,
  MinuteRow,
  NotificationRow,
  PauseRow,
  RequirementRow,
  TallyRow,
  TaskArtifactRow,
  TaskRow,
  VariantsRow,
  WorkerRow,
} from './rows.ts';
import type { SqlText } from './sql.ts';

/** A statement of its own, with its parameters. Where its text is empty for a dialect, there is nothing to do. */
export interface Statement {
  sql: SqlText;
  params: readonly SqlValue[];
}

/** All that one turn changed; written in one transaction. */
export interface Changes {
  requirements: RequirementRow[];
  /** Rows that may be written plainly (`Table.isPlain`), and those that may not. */
  plain_new_jobs: JobRow[];
  plain_changed_jobs: JobRow[];
  new_jobs: JobRow[];
  changed_jobs: JobRow[];
  job_requests: { job_id: string; request: string }[];
  job_inputs: JobInputRow[];
  variants: VariantsRow[];
  choices: ChoiceRow[];
  plain_new_tasks: TaskRow[];
  plain_changed_tasks: TaskRow[];
  new_tasks: TaskRow[];
  changed_tasks: TaskRow[];
  computed: ComputedRow[];
  registered_workers: WorkerRow[];
  plain_changed_workers: WorkerRow[];
  changed_workers: WorkerRow[];
  removed_workers: { id: string }[];
  pauses: PauseRow[];
  lifted_pauses: Pick<PauseRow, 'kind' | 'name'>[];
  artifacts: ArtifactRow[];
  task_artifacts: TaskArtifactRow[];
  events: EventRow[];
  notifications: NotificationRow[];
  minutes: MinuteRow[];
  tally: TallyRow[];
  /** What is done once all rows are written. */
  further: Statement[];
}
