import { computed, signal } from '@preact/signals';
import type { EventView } from '../../../../machines/schema/views.ts';
import type { Api } from '../api/http.ts';
import { wordsOf } from '../api/words-of.ts';
import { Batch } from './batch.ts';
import type { EventHub } from './event-hub.ts';

export interface TailOptions {
  /** Without it, the events of the whole server. */
  jobId?: string;
  /** Only of this task, and what stands for deleted events of its job. */
  taskId?: string;
  /** Only what this accepts; of a job also what stands for deleted events. */
  accepts?: (event: EventView) => boolean;
  /** Events read at once. */
  page: number;
  /** Events kept, unless the reader asks for more; older ones can be read again. */
  kept: number;
}

/** It stands for events that were deleted (docs/protocol.md#events). */
export const isGap = ({ type, task_id }: EventView): boolean => type === 'gap' && task_id === null;

/** Above every event id. */
const NO_END = Number.MAX_SAFE_INTEGER;

/**
 * The last events of a job, a task or the server, oldest first: history by REST, then what the global stream
 * brings. It listens before it reads, and knows events by their id, so none is missed or shown twice.
 */
export class EventTail {
  readonly rows = signal<readonly EventView[]>([]);
  readonly loaded = signal(false);
  readonly fault = signal<string | null>(null);
  readonly hasEarlier = signal(false);
  /** How many pages of history have been read. */
  readonly page = signal(0);
  readonly empty = computed(() => this.loaded.value && this.rows.value.length === 0);
  readonly #options: TailOptions;
  readonly #api: Api;
  readonly #batch: Batch<EventView>;
  readonly #hub: EventHub;
  readonly #stopped = new AbortController();
  #unsubscribe: () => void = () => {};
  /** Everything before this id has not been read. */
  #start = NO_END;
  #kept: number;

  constructor(api: Api, hub: EventHub, options: TailOptions) {
    this.#api = api;
    this.#hub = hub;
    this.#options = options;
    this.#kept = options.kept;
    this.#batch = new Batch(options.kept, (events) => this.#add(events));
  }

  start(): void {
    this.#unsubscribe = this.#hub.subscribe((event) => {
      if (this.#concerns(event)) this.#batch.push(event);
    });
    void this.earlier();
  }

  stop(): void {
    this.#unsubscribe();
    this.#batch.stop();
    this.#stopped.abort();
  }

  /** Reads a page of history before what is shown. */
  async earlier(): Promise<void> {
    const { jobId, taskId, page } = this.#options;
    const query = { before_id: this.#start, task_id: taskId, limit: page };
    try {
      const events = await this.#api.get<EventView[]>(
        jobId === undefined ? 'v1/events' : `v1/jobs/${encodeURIComponent(jobId)}/events`,
        query,
        this.#stopped.signal,
      );
      this.#start = events[0]?.id ?? this.#start;
      this.hasEarlier.value = events.length === page;
      this.fault.value = null;
      this.#kept = Math.max(this.#kept, this.rows.peek().length + page);
      this.#add(events);
      this.page.value++;
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      this.fault.value = wordsOf(error);
    }
    this.loaded.value = true;
  }

  #concerns(event: EventView): boolean {
    const { jobId, taskId, accepts } = this.#options;
    if (jobId !== undefined && event.job_id !== jobId) return false;
    // What was deleted of the job may have been what is looked for.
    if (jobId !== undefined && isGap(event)) return true;
    return (taskId === undefined || event.task_id === taskId) && (accepts?.(event) ?? true);
  }

  #add(events: readonly EventView[]): void {
    const known = new Map(this.rows.peek().map((event) => [event.id, event]));
    for (const event of events) if (this.#concerns(event)) known.set(event.id, event);
    // The stream begins with history too; of what has not been read a part would look like all of it.
    const first = this.#start === NO_END ? 0 : this.#start;
    const rows = [...known.values()].filter(({ id }) => id >= first).sort((a, b) => a.id - b.id);
    this.rows.value = rows.slice(-this.#kept);
    if (rows.length <= this.#kept) return;
    this.#start = this.rows.value[0]?.id ?? this.#start;
    this.hasEarlier.value = true;
  }
}
