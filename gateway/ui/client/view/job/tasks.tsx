import { useEffect, useMemo } from 'preact/hooks';
import { TASK_STATUSES } from '../../../../../machines/schema/statuses.ts';
import type { JobView, TaskView } from '../../../../../machines/schema/views.ts';
import { type JobDetail, MORE_TASKS } from '../../model/job-detail.ts';
import type { TaskStatus } from '../../model/status.ts';
import { type Progress, TaskProgress } from '../../model/task-progress.ts';
import { count } from '../../text/format.ts';
import { waitingGroups } from '../../text/waiting.ts';
import { useDashboard } from '../context.ts';
import { Choices } from '../parts/choices.tsx';
import { Scroller } from '../parts/scroller.tsx';
import { TASK_COLUMNS, TaskRow } from './task-row.tsx';
import { WaitingSummary } from './waiting.tsx';

export function Tasks({ job, detail }: { job: JobView; detail: JobDetail }) {
  const tasks = detail.tasks.value;
  if (!tasks) return <p class="empty">Loading…</p>;
  return <TaskList job={job} tasks={tasks} detail={detail} />;
}

interface Props {
  job: JobView;
  tasks: readonly TaskView[];
  detail: JobDetail;
}

function TaskList({ job, tasks, detail }: Props) {
  const { opened } = detail;
  const total = countsOf(job).get(detail.status.value) ?? job.aggregate.num_tasks;
  const progress = useProgress(detail.id);
  const { shared, alone } = waitingGroups(tasks);
  return (
    <>
      <TaskFilter job={job} detail={detail} />
      {shared.length > 0 && <WaitingSummary groups={shared} all={!detail.hasMore.value} />}
      <Scroller label="Tasks" class="table-frame">
        <table class="inner tasks">
          <caption class="off-screen">
            Tasks of the job, each with a row of details that can be opened
          </caption>
          <thead>
            <tr>
              {TASK_COLUMNS.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tasks.map((task) => (
              <TaskRow
                key={task.id}
                task={task}
                progress={progress.get(task.id)}
                saysWhy={alone.has(task.id)}
                artifacts={detail.artifacts.value.get(task.id) ?? []}
                open={opened.value === task.id}
                onToggle={() => detail.toggleTask(task.id)}
              />
            ))}
          </tbody>
        </table>
      </Scroller>
      {detail.hasMore.value && (
        <p class="more">
          <button type="button" onClick={() => detail.more()}>
            Show {count(Math.min(MORE_TASKS, Math.max(1, total - tasks.length)))} more
          </button>
          <span class="muted">
            {count(tasks.length)} of {count(total)}
          </span>
        </p>
      )}
    </>
  );
}

/** What running tasks said last about how far they are. */
function useProgress(jobId: string): ReadonlyMap<string, Progress> {
  const { api, hub } = useDashboard();
  const progress = useMemo(() => new TaskProgress(api, hub, jobId), [jobId]);
  useEffect(() => {
    progress.start();
    return () => progress.stop();
  }, [progress]);
  return progress.byTask.value;
}

/** How many tasks of the job are in each state, as the server counts them. Who is leased is about to run. */
function countsOf({ aggregate: sum }: JobView): Map<string, number> {
  return new Map<TaskStatus, number>([
    ['queued', sum.num_queued],
    ['running', sum.num_running],
    ['succeeded', sum.num_succeeded],
    ['failed', sum.num_failed],
    ['cancelled', sum.num_cancelled],
  ]);
}

function TaskFilter({ job, detail: { status } }: { job: JobView; detail: JobDetail }) {
  const counts = countsOf(job);
  const present = TASK_STATUSES.filter((one) => (counts.get(one) ?? 0) > 0 || one === status.value);
  if (present.length < 2 && status.value === '') return null;
  return (
    <Choices
      label="Filter tasks by status"
      options={(['', ...present] as const).map((one) => ({
        value: one,
        label: one || 'all',
        count: one ? (counts.get(one) ?? 0) : job.aggregate.num_tasks,
      }))}
      chosen={status.value}
      onChoose={(one) => {
        status.value = one;
      }}
      small
    />
  );
}
