import type { Metrics } from '../../../gateway/metrics/metrics.ts';
import { conditionOf } from '../../../machines/worker/condition.ts';
import type { Core } from '../core.ts';
import type { WorkerRow } from '../store/rows.ts';

const STATES = ['idle', 'busy', 'full', 'suspended', 'draining', 'drained', 'dead'] as const;
type State = (typeof STATES)[number];

/** How a worker that lives stands, the state of its chart below that. */
function stateOf(row: Readonly<WorkerRow>): State {
  const condition = conditionOf(row);
  return condition === 'alive' ? ((row.state ?? 'idle') as State) : (condition as State);
}

/** Workers and their slots. */
export function workerMetrics(
  metrics: Metrics,
  { directory, counters }: Pick<Core, 'directory' | 'counters'>,
): void {
  const living = () =>
    [...directory.workers.values()].flatMap(({ committed }) =>
      committed?.status === 'alive' ? [committed] : [],
    );
  metrics.gauge(
    'jq_workers',
    'Workers by state: idle, busy and full live and take tasks; suspended, draining and drained live and take none; dead fell silent or have ended',
    ['state'],
    (tell) => {
      const counts = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<State, number>;
      for (const row of living()) counts[stateOf(row)]++;
      counts.dead = counters.workers.dead ?? 0;
      for (const [state, count] of Object.entries(counts)) tell(count, { state });
    },
  );
  metrics.gauge(
    'jq_slots',
    'Slots of workers that live: used, free, or withheld, which are the free ones of workers that take no tasks',
    ['state'],
    (tell) => {
      const counts = { used: 0, free: 0, withheld: 0 };
      for (const row of living()) {
        const free = Math.max(0, row.slots_total - row.slots_used);
        counts.used += row.slots_used;
        counts[conditionOf(row) === 'alive' ? 'free' : 'withheld'] += free;
      }
      for (const [state, count] of Object.entries(counts)) tell(count, { state });
    },
  );
}
