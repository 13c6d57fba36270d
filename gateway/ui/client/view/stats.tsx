import type { BackupsView, ClusterStats, WorkerView } from '../../../../machines/schema/views.ts';
import { conditionOf } from '../../../../machines/worker/condition.ts';
import { bytes, count, counted } from '../text/format.ts';
import { useDashboard } from './context.ts';
import { LoadFault } from './parts/section.tsx';
import { Ago } from './parts/time.tsx';
import { Servers } from './servers.tsx';

interface Tile {
  label: string;
  value: number | undefined;
  note?: string;
  tone?: string;
}

/** The cluster in numbers. */
export function Stats() {
  const { cluster } = useDashboard();
  const stats = cluster.stats.value;
  const jobs = stats?.jobs_by_status ?? {};
  const tasks = stats?.tasks_by_status ?? {};
  const of = (counts: Record<string, number>, status: string) => (stats ? (counts[status] ?? 0) : undefined);
  const ended = (jobs.succeeded ?? 0) + (jobs.failed ?? 0) + (jobs.cancelled ?? 0);
  const tiles: Tile[] = [
    {
      label: 'Running jobs',
      value: of(jobs, 'running'),
      note: `${count(jobs.queued ?? 0)} queued`,
      tone: jobs.running ? 'running' : '',
    },
    { label: 'Tasks in flight', value: stats?.tasks_in_flight },
    { label: 'Waiting tasks', value: of(tasks, 'queued') },
    {
      label: 'Workers alive',
      value: stats?.workers_alive,
      note: gone(cluster.workers.value ?? []),
      tone: stats?.workers_alive === 0 ? 'failed' : '',
    },
    {
      label: 'Succeeded jobs',
      value: of(jobs, 'succeeded'),
      note: `of ${count(ended)} ended`,
      tone: jobs.succeeded ? 'succeeded' : '',
    },
    {
      label: 'Failed tasks',
      value: of(tasks, 'failed'),
      note: `${counted(jobs.failed ?? 0, 'job')} failed`,
      tone: tasks.failed ? 'failed' : '',
    },
  ];
  return (
    <section class="card stats" aria-labelledby="stats-title">
      <h2 id="stats-title" class="off-screen">
        The cluster in numbers
      </h2>
      <LoadFault of={cluster.statsRefresher} what="The numbers" />
      <dl>
        {tiles.map(({ label, value, note, tone }) => (
          <div key={label} class="tile">
            <dt>{label}</dt>
            <dd>
              <span class={tone ? `number tone-${tone}` : 'number'}>
                {value === undefined ? '–' : count(value)}
              </span>
              {note && stats && <span class="muted">{note}</span>}
            </dd>
          </div>
        ))}
      </dl>
      {stats && <Pauses stats={stats} />}
      <Servers />
      {stats?.backups && <Backups of={stats.backups} />}
    </section>
  );
}

/** How old the newest backup is, and why there is no newer one. */
function Backups({ of: { last, running, overdue, failure } }: { of: BackupsView }) {
  const isBad = overdue || failure !== null || last?.whole === false;
  return (
    <p class={isBad ? 'backups tone-failed' : 'backups muted'}>
      Last backup: {last ? <Ago ts={last.made_at} /> : 'never'}
      {last && `, ${bytes(last.bytes)}`}
      {last?.whole === false && ', not whole'}
      {running && '; one is being made'}
      {failure && `; the last try failed: ${failure.error}`}
    </p>
  );
}

/** What an operator has paused, since nothing of it starts. */
function Pauses({ stats }: { stats: Pick<ClusterStats, 'paused'> }) {
  const paused = stats.paused ?? [];
  if (paused.length === 0) return null;
  const words = paused.map(({ kind, name, by }) =>
    kind === 'all' ? `the queue, by ${by}` : `${kind} ${name}, by ${by}`,
  );
  return <p class="backups tone-failed">Paused: {words.join('; ')}</p>;
}

/** Those that are not there any more: whoever was stopped is no cause for concern. */
function gone(workers: readonly WorkerView[]): string {
  return ['dead', 'stopped']
    .map(
      (condition) =>
        [workers.filter((worker) => conditionOf(worker) === condition).length, condition] as const,
    )
    .filter(([n]) => n > 0)
    .map(([n, condition]) => `${count(n)} ${condition}`)
    .join(', ');
}
