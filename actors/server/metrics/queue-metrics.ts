import type { Metrics } from '../../../gateway/metrics/metrics.ts';
import { pausedTasks, type QueueSource, queueGroups, type ToldGroup } from './queue-groups.ts';

/** Pauses that are told apart. */
const MOST_PAUSES = 20;

/** What waits and what is held, by what it requires, and who waits for it. */
export function queueMetrics(metrics: Metrics, core: QueueSource): void {
  const byStatus = (name: string, help: string, kind: 'jobs' | 'tasks') =>
    metrics.gauge(name, help, ['status'], (tell) => {
      for (const [status, count] of Object.entries(core.counters[kind])) tell(count, { status });
    });
  byStatus('jq_jobs', 'Jobs by status', 'jobs');
  byStatus('jq_tasks', 'Tasks by status', 'tasks');
  let shared: Promise<ToldGroup[]> | null = null;
  /** One look for both of those that are asked in the same round. */
  const look = () => {
    shared ??= queueGroups(core).finally(() => {
      shared = null;
    });
    return shared;
  };
  metrics.gauge(
    'jq_queue_tasks',
    'Tasks that have not ended, by status and by what they require: the 20 requirements of most tasks, and other',
    ['status', 'requirement'],
    async (tell) => {
      for (const { count, status, requirement } of await look()) tell(count, { status, requirement });
    },
  );
  metrics.gauge(
    'jq_queue_oldest_age_seconds',
    'How long the oldest of them has been in this status; of queued ones the first in line, since it was last queued',
    ['status', 'requirement'],
    async (tell) => {
      const now = core.clock.now();
      for (const { since, status, requirement } of await look())
        if (since !== null) tell(Math.max(0, now - since), { status, requirement });
    },
  );
  metrics.gauge(
    'jq_queue_paused_tasks',
    'Queued tasks behind each pause of the queue, a type or an owner: the 20 pauses of most tasks',
    ['kind', 'name'],
    async (tell) => {
      const pauses = (await pausedTasks(core)).sort((a, b) => b.count - a.count).slice(0, MOST_PAUSES);
      for (const { scope, count } of pauses) tell(count, { kind: scope.kind, name: scope.name });
    },
  );
  metrics.gauge('jq_lease_requests_waiting', 'Lease requests of workers that wait for a task', [], (tell) =>
    tell(core.longPolls.leases().length),
  );
}
