import type { Metrics } from '../../../gateway/metrics/metrics.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Notifier } from '../notify/notifier.ts';
import type { Store } from '../store/store.ts';

/** What the receiver of notifications has been told, and what it is yet to be told. */
export function notifyMetrics(
  metrics: Metrics,
  counts: Notifier['counts'] | undefined,
  store: Pick<Store, 'queries'>,
  clock: Pick<Clock, 'now'>,
): void {
  metrics.counter(
    'jq_notification_attempts_total',
    'Requests to the receiver of notifications, by whether it took them',
    ['end'],
    (tell) => {
      tell(counts?.delivered ?? 0, { end: 'delivered' });
      tell(counts?.failed ?? 0, { end: 'failed' });
    },
  );
  metrics.counter(
    'jq_notifications_given_up_total',
    'Notifications that were given up: too many tries failed, or for too long',
    [],
    (tell) => tell(counts?.given_up ?? 0),
  );
  metrics.gauge('jq_notifications_pending', 'Notifications that have not arrived yet', [], async (tell) => {
    const row = await store.queries.get<{ count: number }>('SELECT count(*) AS count FROM notifications');
    tell(row?.count ?? 0);
  });
  metrics.gauge(
    'jq_notifications_oldest_age_seconds',
    'How long ago the job ended of which the oldest of them tells; 0 where none waits',
    [],
    async (tell) => {
      const row = await store.queries.get<{ at: number }>(
        'SELECT created_at AS at FROM notifications ORDER BY id LIMIT 1',
      );
      tell(row ? Math.max(0, clock.now() - row.at) : 0);
    },
  );
}
