import { pipelineName } from '../../../../../machines/ranking/steps.ts';
import type { ArtifactView, TaskView } from '../../../../../machines/schema/views.ts';
import type { Progress } from '../../model/task-progress.ts';
import { tail } from '../../text/format.ts';
import { plainLog } from '../../text/log-text.ts';
import { warningsOf } from '../../text/task-warnings.ts';
import { useDashboard } from '../context.ts';
import { Id } from '../parts/copy.tsx';
import { NamedAfter } from '../parts/file-name.tsx';
import { Icon } from '../parts/icon.tsx';
import { Status } from '../parts/status.tsx';
import { Ago } from '../parts/time.tsx';
import { ShowInStatechart } from '../statecharts/link.tsx';
import { TaskPlots } from './plots.tsx';
import { ReusedFrom } from './reused-from.tsx';
import { TaskArtifacts } from './task-artifacts.tsx';
import { TaskLog } from './task-log.tsx';
import { WaitingFor } from './waiting.tsx';
import { Warnings } from './warnings.tsx';

export const TASK_COLUMNS = ['Status', 'Pipeline', 'Dataset', 'Worker', 'Attempt', 'Changed', 'Artifacts'];

interface Props {
  task: TaskView;
  /** Of a running one. */
  progress: Progress | undefined;
  /** Whether what it waits for has to be said here. */
  saysWhy: boolean;
  artifacts: readonly ArtifactView[];
  open: boolean;
  onToggle: () => void;
}

export function TaskRow({ task, progress, saysWhy, artifacts, open, onToggle }: Props) {
  const note =
    task.status === 'running'
      ? progress && <ProgressLine of={progress} />
      : saysWhy && <WaitingFor of={task.waiting_for} />;
  return (
    <>
      <tr class={open ? 'task open' : 'task'} data-task={task.id}>
        <td class="of-status">
          <Status of={task.status} />
        </td>
        <th scope="row" class="of-pipeline">
          <button
            type="button"
            class="opener"
            aria-expanded={open}
            aria-label={`Log and details of task ${pipelineName(task)} on ${task.dataset_label}`}
            onClick={onToggle}
          >
            <Icon name="chevron" />
            <bdi class="name" title={pipelineName(task)}>
              {pipelineName(task)}
            </bdi>
          </button>
        </th>
        <td class="of-dataset">
          <bdi title={task.dataset_label}>{task.dataset_label}</bdi>
        </td>
        <td class="of-worker">{task.reused_from ? 'reused' : <WorkerName id={task.worker_id} />}</td>
        <td class="of-attempt">
          {task.attempt} of {task.max_attempts}
        </td>
        <td class="of-changed">
          <Ago ts={task.updated_at} />
        </td>
        <td class="of-artifacts">
          <TaskArtifacts of={task.id} list={artifacts} />
        </td>
      </tr>
      {note && (
        <tr class="note-row">
          <td colSpan={TASK_COLUMNS.length}>{note}</td>
        </tr>
      )}
      {open && (
        <tr class="panel-row">
          <td colSpan={TASK_COLUMNS.length}>
            <TaskPanel task={task} artifacts={artifacts} />
          </td>
        </tr>
      )}
    </>
  );
}

/** Which worker has it, or had it last. */
function WorkerName({ id }: { id: string | null }) {
  const { cluster } = useDashboard();
  if (id === null) return <>–</>;
  const name = cluster.workers.value?.find((worker) => worker.id === id)?.name ?? tail(id);
  return (
    <bdi class="worker-name" title={id}>
      {name}
    </bdi>
  );
}

/** How far a running task is, as its runner last said. */
function ProgressLine({ of: { share, message } }: { of: Progress }) {
  const percent = `${Math.floor(share * 100)} %`;
  return (
    <span class="progress">
      <progress value={share} max={1} aria-label="Progress" />
      <b>{percent}</b>
      <bdi class="muted" title={message || undefined}>
        {plainLog(message)}
      </bdi>
    </span>
  );
}

function TaskPanel({ task, artifacts }: { task: TaskView; artifacts: readonly ArtifactView[] }) {
  return (
    <div class="task-panel">
      <div class="facts-line">
        <dl class="facts">
          <div>
            <dt>Task</dt>
            <dd>
              <Id id={task.id} what="task" whole />
            </dd>
          </div>
          {task.worker_id && (
            <div>
              <dt>Worker</dt>
              <dd>
                <WorkerName id={task.worker_id} /> <Id id={task.worker_id} what="worker" whole />
              </dd>
            </div>
          )}
          {task.reused_from && (
            <div>
              <dt>Result</dt>
              <dd>
                <ReusedFrom of={task.reused_from} />
              </dd>
            </div>
          )}
          <div>
            <dt>Attempt</dt>
            <dd>
              {task.attempt} of {task.max_attempts}
            </dd>
          </div>
          {task.started_at !== null && (
            <div>
              <dt>Started</dt>
              <dd>
                <Ago ts={task.started_at} />
              </dd>
            </div>
          )}
        </dl>
        <ShowInStatechart
          about={{ kind: 'task', id: task.id, jobId: task.job_id }}
          name={`${pipelineName(task)} on ${task.dataset_label}`}
        />
      </div>
      <Warnings list={warningsOf(task).map((text) => ({ text }))} />
      {task.error !== null && <pre class="frame task-error">{task.error}</pre>}
      <NamedAfter name={`${pipelineName(task)} on ${task.dataset_label}`}>
        <TaskPlots artifacts={artifacts} />
      </NamedAfter>
      <TaskLog key={task.id} task={task} artifacts={artifacts} />
    </div>
  );
}
