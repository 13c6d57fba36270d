import type { Metrics } from '../../../gateway/metrics/metrics.ts';
import type { Progress } from '../retention/progress.ts';
import type { Store } from '../store/store.ts';

/** What is deleted, and what is yet to go. */
export function retentionMetrics(
  metrics: Metrics,
  progress: Progress,
  store: Pick<Store, 'queries' | 'size'>,
): void {
  metrics.counter(
    'jq_retention_deleted_total',
    'What was deleted, by hand or since its time was over: rows, and objects of the disk',
    ['what'],
    (tell) => {
      for (const [what, count] of Object.entries(progress.counts)) tell(count, { what });
    },
  );
  metrics.counter('jq_retention_freed_bytes_total', 'Bytes of objects that were removed', [], (tell) =>
    tell(progress.freedBytes),
  );
  metrics.counter(
    'jq_retention_failures_total',
    'Passes of retention that could not be ended; each is tried again after a minute',
    [],
    (tell) => tell(progress.failedPasses),
  );
  metrics.gauge(
    'jq_retention_last_pass_timestamp_seconds',
    'When the last pass of retention ended, in seconds since 1970; 0 before the first',
    [],
    (tell) => tell(progress.lastPassAt ?? 0),
  );
  metrics.gauge(
    'jq_retention_pending',
    'Jobs that are deleted and have rows left, and objects that are removed when their day is over',
    ['what'],
    async (tell) => {
      const row = await store.queries.get<{ jobs: number; objects: number }>(
        `SELECT (SELECT count(*) FROM deletions) AS jobs, (SELECT count(*) FROM unnamed_objects) AS objects`,
      );
      tell(row?.jobs ?? 0, { what: 'jobs' });
      tell(row?.objects ?? 0, { what: 'objects' });
    },
  );
  metrics.gauge('jq_store_free_bytes', 'Of the database, what nothing is in', [], async (tell) => {
    const { free, pageBytes } = await store.size();
    tell(free * pageBytes);
  });
}
