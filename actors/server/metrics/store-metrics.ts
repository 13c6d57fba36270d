import { statfs } from 'node:fs/promises';
import type { Metrics } from '../../../gateway/metrics/metrics.ts';
import type { Store } from '../store/store.ts';

/** What is asked of the supervisor and the state directory. */
export interface StoreSource {
  readonly stateDir: string;
  readonly store: Pick<Store, 'bytes'>;
  /** Bytes of the disk that artifacts leave free. */
  readonly reserveBytes: number;
  readonly state: string;
  /** Messages that are not on their way to the disk. */
  readonly waiting: number;
}

/** Whether the server commits, and what it takes of the disk. */
export function storeMetrics(metrics: Metrics, source: StoreSource): void {
  metrics.gauge('jq_ready', 'Whether the server has recovered and commits: 1, or 0', [], (tell) =>
    tell(source.state === 'serving' ? 1 : 0),
  );
  metrics.gauge('jq_mailbox_messages', 'Messages that wait for the supervisor', [], (tell) =>
    tell(source.waiting),
  );
  metrics.gauge('jq_store_bytes', 'Size of the store: its database, and its log', ['file'], async (tell) => {
    for (const [file, bytes] of Object.entries(await source.store.bytes())) tell(bytes, { file });
  });
  const disk = () => statfs(source.stateDir).catch(() => null);
  metrics.gauge('jq_disk_free_bytes', 'What is free on the disk of the state directory', [], async (tell) => {
    const found = await disk();
    if (found) tell(found.bavail * found.bsize);
  });
  metrics.gauge('jq_disk_size_bytes', 'The size of that disk', [], async (tell) => {
    const found = await disk();
    if (found) tell(found.blocks * found.bsize);
  });
  metrics.gauge('jq_disk_reserve_bytes', 'What artifacts leave free there (--reserve-mb)', [], (tell) =>
    tell(source.reserveBytes),
  );
}
