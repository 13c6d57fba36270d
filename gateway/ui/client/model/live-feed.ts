import { computed, signal } from '@preact/signals';
import type { EventView } from '../../../../machines/schema/views.ts';
import { Batch } from './batch.ts';

/** Events kept, and events shown of those that match. */
export const KEPT = 2_000;
export const SHOWN = 250;

export const FEED_FILTERS = ['all', 'moves', 'problems'] as const;
export type FeedFilter = (typeof FEED_FILTERS)[number];

const CHATTER = new Set(['log', 'progress']);

function matches(event: EventView, filter: FeedFilter): boolean {
  if (filter === 'problems') return event.level === 'warning' || event.level === 'error';
  return filter === 'all' || !CHATTER.has(event.type);
}

/** The newest events of the whole cluster: gathered, bounded, and held back while the reader pauses. */
export class LiveFeed {
  readonly paused = signal(false);
  /** Events that came during the pause. */
  readonly held = signal(0);
  /** Events since the page was opened. */
  readonly total = signal(0);
  readonly filter = signal<FeedFilter>('all');
  /** Newest first. */
  readonly rows = computed(() =>
    this.#shown.value
      .filter((event) => matches(event, this.filter.value))
      .slice(-SHOWN)
      .reverse(),
  );
  /** Oldest first, as are the kept ones. */
  readonly #shown = signal<readonly EventView[]>([]);
  #kept: readonly EventView[] = [];
  #came = 0;
  readonly #batch = new Batch<EventView>(KEPT, (events) => this.#take(events));

  take(event: EventView): void {
    this.#came++;
    this.#batch.push(event);
  }

  togglePause(): void {
    this.paused.value = !this.paused.value;
    if (this.paused.value) return;
    this.held.value = 0;
    this.#shown.value = this.#kept;
  }

  stop(): void {
    this.#batch.stop();
  }

  #take(events: EventView[]): void {
    this.#kept = [...this.#kept, ...events].slice(-KEPT);
    this.total.value += this.#came;
    if (this.paused.value) this.held.value += this.#came;
    else this.#shown.value = this.#kept;
    this.#came = 0;
  }
}
