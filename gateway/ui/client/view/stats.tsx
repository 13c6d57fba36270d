import { count } from '../text/format.ts';
import { useDashboard } from './context.ts';
import { LoadFault } from './parts/section.tsx';

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
  const dead = stats?.workers_dead ?? 0;
  const of = (counts: Record<string, number>, status: string) => (stats ? (counts[status] ?? 0) : undefined);
  const ended = (jobs.succeeded ?? 0) + (jobs.failed ?? 0) + (jobs.cancelled ?? 0);
  const tiles: Tile[] = [
    {
      label: 'Running jobs',
      value: of(jobs, 'running'),
      note: `${count(jobs.queued ?? 0)} queued`,
      tone: 'running',
    },
    { label: 'Tasks in flight', value: stats?.tasks_in_flight },
    { label: 'Waiting tasks', value: of(tasks, 'queued') },
    {
      label: 'Workers alive',
      value: stats?.workers_alive,
      note: dead > 0 ? `${count(dead)} dead` : '',
      tone: stats?.workers_alive === 0 ? 'failed' : '',
    },
    {
      label: 'Succeeded jobs',
      value: of(jobs, 'succeeded'),
      note: `of ${count(ended)} ended`,
      tone: 'succeeded',
    },
    { label: 'Failed jobs', value: of(jobs, 'failed'), tone: jobs.failed ? 'failed' : '' },
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
    </section>
  );
}
