import { useSignal } from '@preact/signals';
import type { JobView, TaskView } from '../../../../../machines/schema/views.ts';
import type { JobDetail } from '../../model/job-detail.ts';
import { TASK_STATUSES } from '../../model/status.ts';
import { counted } from '../../text/format.ts';
import { Choices } from '../parts/choices.tsx';
import { useMore } from '../parts/more.tsx';
import { Scroller } from '../parts/scroller.tsx';
import { TaskRow } from './task-row.tsx';

export function Tasks({ job, detail }: { job: JobView; detail: JobDetail }) {
  const tasks = detail.tasks.value;
  if (detail.tooMany.value) return <ManyTasks total={job.aggregate.num_tasks} detail={detail} />;
  if (!tasks) return <p class="empty">Loading…</p>;
  return <TaskList tasks={tasks} detail={detail} />;
}

function ManyTasks({ total, detail }: { total: number; detail: JobDetail }) {
  const load = () => {
    detail.allTasks.value = true;
  };
  return (
    <p class="empty">
      The job has {counted(total, 'task')}; they come all at once, which takes a moment.{' '}
      <button type="button" onClick={load}>
        Load them
      </button>
    </p>
  );
}

function TaskList({ tasks, detail }: { tasks: readonly TaskView[]; detail: JobDetail }) {
  const status = useSignal('');
  const opened = useSignal('');
  const found = tasks.filter((task) => status.value === '' || task.status === status.value);
  const { shown, more } = useMore(found.length);
  return (
    <>
      <TaskFilter tasks={tasks} status={status} />
      <Scroller label="Tasks" class="table-frame">
        <table class="inner tasks">
          <caption class="off-screen">
            Tasks of the job, each with a row of details that can be opened
          </caption>
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">Pipeline</th>
              <th scope="col">Dataset</th>
              <th scope="col">Attempt</th>
              <th scope="col">Changed</th>
              <th scope="col">Artifacts</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, shown).map((task) => (
              <TaskRow
                key={task.id}
                task={task}
                artifacts={detail.artifacts.value.get(task.id) ?? []}
                open={opened.value === task.id}
                onToggle={() => {
                  opened.value = opened.value === task.id ? '' : task.id;
                }}
              />
            ))}
          </tbody>
        </table>
      </Scroller>
      {more}
    </>
  );
}

function TaskFilter({ tasks, status }: { tasks: readonly TaskView[]; status: { value: string } }) {
  const counts = new Map<string, number>();
  for (const task of tasks) counts.set(task.status, (counts.get(task.status) ?? 0) + 1);
  const present = TASK_STATUSES.filter((one) => counts.has(one) || one === status.value);
  if (present.length < 2) return null;
  return (
    <Choices
      label="Filter tasks by status"
      options={['', ...present].map((one) => ({
        value: one,
        label: one || 'all',
        count: one ? (counts.get(one) ?? 0) : tasks.length,
      }))}
      chosen={status.value}
      onChoose={(one) => {
        status.value = one;
      }}
      small
    />
  );
}
