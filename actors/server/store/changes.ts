import type {
  ArtifactRow,
  ChoiceRow,
  ComputedRow,
  EventRow,
  JobRow,
  MinuteRow,
  RequirementRow,
  TallyRow,
  TaskArtifactRow,
  TaskRow,
  VariantsRow,
  WorkerRow,
} from './rows.ts';

/** All that one turn changed; written in one transaction. */
export interface Changes {
  requirements: RequirementRow[];
  new_jobs: JobRow[];
  changed_jobs: JobRow[];
  job_requests: { job_id: string; request: string }[];
  variants: VariantsRow[];
  choices: ChoiceRow[];
  new_tasks: TaskRow[];
  changed_tasks: TaskRow[];
  computed: ComputedRow[];
  registered_workers: WorkerRow[];
  changed_workers: WorkerRow[];
  removed_workers: { id: string }[];
  artifacts: ArtifactRow[];
  task_artifacts: TaskArtifactRow[];
  events: EventRow[];
  minutes: MinuteRow[];
  tally: TallyRow[];
}
