import type { JobView } from '../../../../../machines/schema/views.ts';
import { plainLog } from '../../text/log-text.ts';
import { Copy, Id } from '../parts/copy.tsx';
import { useMore } from '../parts/more.tsx';
import { Scroller } from '../parts/scroller.tsx';

export function Errors({ job }: { job: JobView }) {
  const errors = Object.entries(job.aggregate.errors);
  const { shown, more } = useMore(errors.length);
  if (errors.length === 0 && job.error === null) return <p class="empty">No task has failed for good.</p>;
  return (
    <>
      {job.error !== null && (
        <p class="job-error">
          <b>Job</b> <bdi>{job.error}</bdi>
        </p>
      )}
      <ul class="errors">
        {errors.slice(0, shown).map(([taskId, error]) => (
          <li key={taskId}>
            <div class="error-head">
              <Id id={taskId} what="task" whole />
              <Copy text={error} what="error" />
            </div>
            <Scroller label={`Error of task ${taskId}`} class="frame">
              <pre>{plainLog(error)}</pre>
            </Scroller>
          </li>
        ))}
      </ul>
      {more}
    </>
  );
}
