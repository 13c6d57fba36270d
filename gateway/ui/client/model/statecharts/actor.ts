import { computed, effect, signal } from '@preact/signals';
import type { EventView, JobView } from '../../../../../machines/schema/views.ts';
import type { Api } from '../../api/http.ts';
import type { Cluster } from '../cluster.ts';
import type { EventHub } from '../event-hub.ts';
import { EventTail, type TailOptions } from '../event-tail.ts';
import { Refresher } from '../refresher.ts';
import { type Choosable, jobState, pathOf, stateAfter, taskState, workerState } from './past.ts';

export interface About {
  kind: Choosable;
  id: string;
  /** Of a job its own, of a task its job's; of a worker empty. */
  jobId: string;
}

const PAGE = 1_000;
/** Pages read without being asked: events that move an actor may lie far before the newest lines of a log. */
const PAGES = 5;

/** One job, task or worker: where it is, and the events that led there. */
export class Actor {
  readonly about: About;
  readonly tail: EventTail;
  readonly refresher: Refresher | null;
  readonly #job = signal<JobView | null>(null);
  readonly #cluster: Cluster;
  readonly #hub: EventHub;
  #stops: (() => void)[] = [];

  readonly complete = computed(() => this.tail.loaded.value && !this.tail.hasEarlier.value);
  readonly path = computed(() => pathOf(this.about.kind, this.tail.rows.value, this.complete.value));
  /** The id of its state; null while that is not known. */
  readonly state = computed(() => this.#state());

  constructor(about: About, api: Api, hub: EventHub, cluster: Cluster, onFault: (error: unknown) => void) {
    this.about = about;
    this.#cluster = cluster;
    this.#hub = hub;
    this.tail = new EventTail(api, hub, tailOptions(about));
    const load = async (signal: AbortSignal) => {
      this.#job.value = await api.get<JobView>(`v1/jobs/${encodeURIComponent(about.jobId)}`, {}, signal);
    };
    this.refresher =
      about.kind === 'worker' ? null : new Refresher(load, { every: 10_000, atLeast: 500, onFault });
  }

  start(): void {
    this.tail.start();
    this.refresher?.start();
    let pages = 1;
    this.#stops = [
      this.#hub.subscribe((event) => {
        if (event.job_id === this.about.jobId && event.type.startsWith('job_')) this.refresher?.touch();
      }),
      effect(() => {
        const { page, hasEarlier, fault } = this.tail;
        if (page.value !== pages || !hasEarlier.value || fault.value !== null || pages >= PAGES) return;
        pages++;
        void this.tail.earlier();
      }),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.tail.stop();
    this.refresher?.stop();
  }

  #state(): string | null {
    const { kind, id } = this.about;
    if (kind === 'worker') {
      const worker = this.#cluster.workers.value?.find((one) => one.id === id);
      return worker ? workerState(worker) : null;
    }
    const job = this.#job.value;
    if (!job) return null;
    return kind === 'job' ? jobState(job) : taskState(this.path.value, this.complete.value, job.status);
  }
}

function tailOptions({ kind, id, jobId }: About): TailOptions {
  const common = { page: PAGE, kept: PAGE };
  const moves = (event: EventView) => stateAfter(kind, event) !== null;
  if (kind === 'task') return { ...common, jobId, taskId: id, accepts: moves };
  if (kind === 'job') return { ...common, jobId, accepts: moves };
  return { ...common, accepts: (event) => event.worker_id === id && moves(event) };
}
