import type { ArtifactView, TaskView, Waiting } from '../../../../../machines/schema/views.ts';
import { counted, tail } from '../../text/format.ts';
import { useDashboard } from '../context.ts';
import { Id } from '../parts/copy.tsx';
import { DownloadButton } from '../parts/download.tsx';
import { Icon } from '../parts/icon.tsx';
import { Status } from '../parts/status.tsx';
import { Ago } from '../parts/time.tsx';
import { ShowInStatechart } from '../statecharts/link.tsx';
import { TaskLog } from './task-log.tsx';

interface Props {
  task: TaskView;
  artifacts: readonly ArtifactView[];
  open: boolean;
  onToggle: () => void;
}

export function TaskRow({ task, artifacts, open, onToggle }: Props) {
  return (
    <>
      <tr class={open ? 'open' : ''} data-task={task.id}>
        <td>
          <Status of={task.status} />
        </td>
        <th scope="row">
          <button
            type="button"
            class="opener"
            aria-expanded={open}
            aria-label={`Log and details of task ${task.pipeline_label} on ${task.dataset_label}`}
            onClick={onToggle}
          >
            <Icon name="chevron" />
            <bdi class="name">{task.pipeline_label}</bdi>
          </button>
        </th>
        <td>
          <bdi>{task.dataset_label}</bdi>
        </td>
        <td>
          {task.attempt} of {task.max_attempts}
        </td>
        <td>
          <Ago ts={task.updated_at} />
        </td>
        <td>
          <span class="chips">
            {artifacts.map(({ id, role, size_bytes }) => (
              <DownloadButton
                key={`${role} ${id}`}
                id={id}
                size={size_bytes}
                label={role}
                of={`task ${tail(task.id)}`}
              />
            ))}
          </span>
        </td>
      </tr>
      {task.status === 'queued' && (
        <tr class="note-row">
          <td colSpan={6}>
            <WaitingFor of={task.waiting_for} />
          </td>
        </tr>
      )}
      {open && (
        <tr class="panel-row">
          <td colSpan={6}>
            <TaskPanel task={task} artifacts={artifacts} />
          </td>
        </tr>
      )}
    </>
  );
}

/** What keeps workers from a task beside what it requires; undefined for a requirement. */
function inWords(reason: string, workers: number): string | undefined {
  const live = counted(workers, 'live worker');
  if (reason === 'slots') return `All slots of ${counted(workers, 'matching worker')} are taken.`;
  if (reason === 'backoff') return 'Failed, and is tried again later.';
  if (reason === 'worker_fault') return `Avoids ${live} after a fault of its own.`;
  if (reason === 'suspended') return `${counted(workers, 'matching worker')} asking for no tasks at present.`;
  return undefined;
}

/** Why a queued task waits. */
function WaitingFor({ of }: { of: readonly Waiting[] }) {
  const { cluster } = useDashboard();
  const alive = cluster.stats.value?.workers_alive;
  return (
    <span class="waiting">
      <Icon name="clock" />
      {of.length === 0 && (alive === 0 ? 'Waits for a worker: none is alive.' : 'Waits for its turn.')}
      {of.map(({ requirement, workers_missing }) => (
        <span key={requirement}>
          {inWords(requirement, workers_missing) ?? (
            <>
              Needs <bdi class="chip">{requirement}</bdi>, which {counted(workers_missing, 'live worker')}{' '}
              {workers_missing === 1 ? 'lacks' : 'lack'}.
            </>
          )}
        </span>
      ))}
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
                <Id id={task.worker_id} what="worker" whole />
              </dd>
            </div>
          )}
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
          name={`${task.pipeline_label} on ${task.dataset_label}`}
        />
      </div>
      {task.error !== null && <pre class="frame task-error">{task.error}</pre>}
      <TaskLog key={task.id} task={task} file={artifacts.find(({ role }) => role === 'logs')} />
    </div>
  );
}
