import type { Metrics } from '../../../gateway/metrics/metrics.ts';
import type { ObjectDriver } from '../blobs/driver.ts';

/** How the object store is found by whoever reads the metrics; looks of the same round are one. Of a folder nothing is told. */
export function objectMetrics(metrics: Metrics, driver: Pick<ObjectDriver, 'look'>): void {
  const look = () => driver.look();
  metrics.gauge(
    'jq_object_store_usable',
    'Whether the object store (--objects) takes and gives artifacts: 1, or 0 and why not: `unreachable`, `refused` (its credentials), `no_bucket`, `not_ours` (another store’s place), `failing`',
    ['trouble'],
    async (tell) => {
      const sight = await look();
      if (sight) tell(sight.trouble === null ? 1 : 0, { trouble: sight.trouble ?? '' });
    },
  );
  metrics.gauge(
    'jq_object_store_conditional_writes',
    'Whether it writes only where there is nothing when it is asked so: 1, or 0; nothing before it could be tried',
    [],
    async (tell) => {
      const isConditional = (await look())?.isConditional ?? null;
      if (isConditional !== null) tell(isConditional ? 1 : 0);
    },
  );
  metrics.gauge(
    'jq_object_store_clock_ahead_seconds',
    'By how much its clock is ahead of the server’s, to a second',
    [],
    async (tell) => {
      const sight = await look();
      if (sight) tell(sight.clockAhead);
    },
  );
}
