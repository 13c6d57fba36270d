import { computed, type ReadonlySignal, signal } from '@preact/signals';

/** Seconds without an answer that a restart of the server may take before anybody has to know. */
const GRACE = 1;

interface Clock {
  readonly now: ReadonlySignal<number>;
  present(): number;
}

/** How old what is shown may be: whether the server answers, and when it last did. */
export class Freshness {
  /** When the last answer with data came, in seconds since the epoch by the server's clock; null before the first. */
  readonly heardAt = signal<number | null>(null);
  /** What is shown is old, and nothing on the page may look as if it were not. */
  readonly stale: ReadonlySignal<boolean>;
  /** When requests began to have no answer; null while they have. */
  readonly #silentSince = signal<number | null>(null);
  readonly #ticker: Clock;

  constructor(link: ReadonlySignal<{ is: string }>, ticker: Clock) {
    this.#ticker = ticker;
    this.stale = computed(() => {
      const since = this.#silentSince.value;
      return link.value.is !== 'refused' && since !== null && ticker.now.value - since >= GRACE;
    });
  }

  heard(): void {
    this.heardAt.value = this.#ticker.present();
    this.#silentSince.value = null;
  }

  /** A request had no answer. */
  missed(): void {
    this.#silentSince.value ??= this.#ticker.present();
  }
}
