import type { TaskView } from '../../../../../machines/schema/views.ts';
import { Id } from '../parts/copy.tsx';

/** Whose result a task has, where it was not computed for it. */
export function ReusedFrom({ of: { task_id, job_id } }: { of: NonNullable<TaskView['reused_from']> }) {
  return (
    <span class="reused muted">
      reused from <Id id={task_id} what="task" /> of <Id id={job_id} what="job" />
    </span>
  );
}
