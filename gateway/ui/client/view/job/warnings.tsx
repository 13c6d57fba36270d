import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { JobView, TaskView } from '../../../../../machines/schema/views.ts';
import { counted } from '../../text/format.ts';
import { sharedWarnings } from '../../text/task-warnings.ts';
import { useDashboard } from '../context.ts';
import { Icon } from '../parts/icon.tsx';

/** Tasks whose warnings are read for their job: most are about the data, and alike in all of them. */
const LOOKED_AT = 20;
/** Warnings that are shown until the reader wants all. */
const FEW = 3;

/** What the server, and the runners of its tasks, warned of in a job. */
export function JobWarnings({ job }: { job: JobView }) {
  const { num_succeeded, num_tasks } = job.aggregate;
  const tasks = useSucceeded(job.id, Math.min(num_succeeded, LOOKED_AT));
  const some = num_succeeded > tasks.length ? 'at least ' : '';
  const of = (count: number) => (num_tasks > 1 ? ` (${some}${counted(count, 'task')})` : '');
  const said = sharedWarnings(tasks).map(({ text, tasks }) => ({ text, of: of(tasks) }));
  return <Warnings list={[...job.warnings.map((text) => ({ text, of: '' })), ...said]} />;
}

/** Some of the tasks that have succeeded; read anew while there are fewer than `count`. */
function useSucceeded(jobId: string, count: number): readonly TaskView[] {
  const { api } = useDashboard();
  const found = useSignal<readonly TaskView[]>([]);
  useEffect(() => {
    if (count === 0) return;
    const gone = new AbortController();
    const query = { status: 'succeeded', limit: LOOKED_AT };
    api.get<TaskView[]>(`v1/jobs/${encodeURIComponent(jobId)}/tasks`, query, gone.signal).then(
      (tasks) => {
        found.value = tasks;
      },
      // What is wrong with the job's answers is said where they are shown.
      () => {},
    );
    return () => gone.abort();
  }, [jobId, count]);
  return found.value;
}

export function Warnings({ list }: { list: readonly { text: string; of?: string }[] }) {
  const [all, setAll] = useState(false);
  if (list.length === 0) return null;
  const left = all ? 0 : list.length - FEW;
  return (
    <div class="warning">
      <Icon name="warning" />
      <ul>
        {list.slice(0, left > 0 ? FEW : undefined).map(({ text, of }) => (
          <li key={text}>
            <bdi>{text}</bdi>
            {of && <span class="muted">{of}</span>}
          </li>
        ))}
        {left > 0 && (
          <li>
            <button type="button" class="link" onClick={() => setAll(true)}>
              and {counted(left, 'more warning')}
            </button>
          </li>
        )}
      </ul>
    </div>
  );
}
