import { useSignal } from '@preact/signals';
import { type Group, grouped } from '../../../../../machines/ranking/failures.ts';
import { pipelineName } from '../../../../../machines/ranking/steps.ts';
import type { JobView, TaskView } from '../../../../../machines/schema/views.ts';
import type { JobDetail } from '../../model/job-detail.ts';
import { count, counted } from '../../text/format.ts';
import { plainLog } from '../../text/log-text.ts';
import { Copy, Id } from '../parts/copy.tsx';
import { Icon } from '../parts/icon.tsx';
import { useMore } from '../parts/more.tsx';
import { Scroller } from '../parts/scroller.tsx';
import { TaskOutcome } from './task-outcome.tsx';

/** Why tasks failed, the same reason once; apart from it, why the last attempt of others did that go on. */
export function Errors({ job, detail }: { job: JobView; detail: JobDetail }) {
  const known = new Map(detail.troubled.value.map((task) => [task.id, task]));
  const goOn = [...known.values()].filter(({ status }) => status !== 'failed');
  const failed = Object.entries(job.aggregate.errors).filter(([id]) => !goOn.some((task) => task.id === id));
  const tasks = { known, jobId: job.id };
  if (failed.length === 0 && goOn.length === 0 && job.error === null) {
    return <p class="empty">No task has failed for good.</p>;
  }
  return (
    <>
      {job.error !== null && (
        <p class="job-error">
          <b>Job</b> <bdi>{job.error}</bdi>
        </p>
      )}
      {failed.length > 0 && <Reasons of={grouped(failed.map(([id, why]) => [why, id]))} {...tasks} />}
      {goOn.length > 0 && (
        <section aria-label="Tried again">
          <h4 class="tried-again">{counted(goOn.length, 'task')} tried again, after</h4>
          <Reasons of={grouped(goOn.map(({ id, error }) => [error ?? '', id]))} {...tasks} />
        </section>
      )}
    </>
  );
}

interface Tasks {
  /** Those whose names are known, by their ids. */
  known: ReadonlyMap<string, TaskView>;
  jobId: string;
}

function Reasons({ of, ...tasks }: { of: readonly Group<string>[] } & Tasks) {
  const { shown, more } = useMore(of.length);
  return (
    <>
      <ul class="errors">
        {of.slice(0, shown).map(({ text, members }) => (
          <li key={members[0]}>
            <div class="error-head">
              <b>{count(members.length)} ×</b>
              <Copy text={text} what="error" />
            </div>
            <Scroller label={`Error of ${counted(members.length, 'task')}`} class="frame">
              <pre>{plainLog(text)}</pre>
            </Scroller>
            <FailedTasks ids={members} {...tasks} />
          </li>
        ))}
      </ul>
      {more}
    </>
  );
}

function FailedTasks({ ids, known, jobId }: { ids: readonly string[] } & Tasks) {
  const { shown, more } = useMore(ids.length);
  const opened = useSignal('');
  return (
    <>
      <ul class="error-tasks">
        {ids.slice(0, shown).map((id) => {
          const task = known.get(id);
          const name = task ? `${pipelineName(task)} on ${task.dataset_label}` : 'Log and files';
          const open = opened.value === id;
          return (
            <li key={id}>
              <button
                type="button"
                class="opener"
                aria-expanded={open}
                aria-label={`Log and files of ${task ? name : id}`}
                onClick={() => {
                  opened.value = open ? '' : id;
                }}
              >
                <Icon name="chevron" />
                <bdi class="name">{name}</bdi>
              </button>{' '}
              <Id id={id} what="task" />
              {open && <TaskOutcome task={task ?? { id, job_id: jobId, status: 'failed' }} />}
            </li>
          );
        })}
      </ul>
      {more}
    </>
  );
}
