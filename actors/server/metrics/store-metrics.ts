import { stat, statfs } from 'node:fs/promises';
import type { Metrics } from '../../../gateway/metrics/metrics.ts';

/** What is asked of the supervisor and the state directory. */
export interface StoreSource {
  readonly stateDir: string;
  /** Of `store.sqlite`. */
  readonly storePath: string;
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
    for (const [file, path] of [
      ['database', source.storePath],
      ['wal', `${source.storePath}-wal`],
    ] as const)
      tell((await stat(path).catch(() => null))?.size ?? 0, { file });
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
