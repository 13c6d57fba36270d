import { signal } from '@preact/signals';
import type { ServersView } from '../../../../machines/schema/servers.ts';
import type { ClusterStats, EventView, StatsMinute, WorkerView } from '../../../../machines/schema/views.ts';
import type { Api } from '../api/http.ts';
import { Refresher } from './refresher.ts';

const QUIET = new Set(['log', 'progress']);

/** The cluster as a whole: numbers, the last hour, the workers, the servers. */
export class Cluster {
  readonly stats = signal<ClusterStats | null>(null);
  readonly history = signal<readonly StatsMinute[]>([]);
  readonly workers = signal<readonly WorkerView[] | null>(null);
  readonly servers = signal<ServersView | null>(null);
  readonly statsRefresher: Refresher;
  readonly historyRefresher: Refresher;
  readonly workersRefresher: Refresher;
  readonly serversRefresher: Refresher;

  constructor(api: Api, onFault: (error: unknown) => void) {
    const keep = <T>(path: string, into: { value: T }, every: number, atLeast: number) =>
      new Refresher(
        async (signal) => {
          into.value = await api.get<T>(path, {}, signal);
        },
        { every, atLeast, onFault },
      );
    this.statsRefresher = keep('v1/stats', this.stats, 5_000, 500);
    this.historyRefresher = keep('v1/stats/history', this.history, 15_000, 5_000);
    this.workersRefresher = keep('v1/workers', this.workers, 10_000, 1_000);
    this.serversRefresher = keep('v1/servers', this.servers, 5_000, 1_000);
  }

  /** Slots and numbers move with every task; words of a running one move nothing. */
  heard({ type }: EventView): void {
    if (QUIET.has(type)) return;
    this.statsRefresher.touch();
    this.historyRefresher.touch();
    if (type.startsWith('worker_') || type.startsWith('task_')) this.workersRefresher.touch();
  }

  touch(): void {
    for (const refresher of this.#all()) refresher.touch();
  }

  start(): void {
    for (const refresher of this.#all()) refresher.start();
  }

  stop(): void {
    for (const refresher of this.#all()) refresher.stop();
  }

  #all(): Refresher[] {
    return [this.statsRefresher, this.historyRefresher, this.workersRefresher, this.serversRefresher];
  }
}
