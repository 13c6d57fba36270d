import { isElsewhere } from './errors.ts';

/** Milliseconds for which a server is waited for that answers nothing at all, where another one may be asked instead. */
const FIRST_BYTE_MS = 5_000;

/** Where a server is asked. */
export interface Address {
  /** As it was named, without a slash at its end. */
  readonly url: string;
  readonly origin: string;
  /** The path below which the server is reached; empty for none. */
  readonly basePath: string;
}

/** The servers of one cluster, of which one leads: the one that answered last is asked, until it does no more. */
export class Servers {
  readonly #all: readonly Address[];
  readonly #onLeave: (fault: unknown) => void;
  #at = 0;

  /**
   * @param text their addresses, separated by commas
   * @param onLeave told why another one is asked from now on
   */
  constructor(text: string, onLeave: (fault: unknown) => void = () => {}) {
    this.#all = text.split(',').map(addressOf);
    this.#onLeave = onLeave;
  }

  get count(): number {
    return this.#all.length;
  }

  /** Those that are not asked at present. */
  get others(): readonly Address[] {
    return this.#all.filter((_, at) => at !== this.#at);
  }

  get present(): Address {
    return this.#all[this.#at] as Address;
  }

  /**
   * A server that cannot be reached, or stands by, is left for the next one, which is asked at once where that is safe.
   * @param ask told for how many milliseconds it may wait for a first byte; undefined where there is no next one
   */
  async ask<T>(
    isSafe: (fault: unknown) => boolean,
    ask: (server: Address, firstMs: number | undefined) => Promise<T>,
  ): Promise<T> {
    for (let left = this.count; ; left--) {
      const server = this.present;
      try {
        return await ask(server, left > 1 ? FIRST_BYTE_MS : undefined);
      } catch (fault) {
        if (isElsewhere(fault)) this.leave(server, fault);
        if (left <= 1 || !isElsewhere(fault) || !isSafe(fault)) throw fault;
      }
    }
  }

  /** Goes on with the next one, unless somebody else has done so since that one was asked. */
  leave({ url }: Pick<Address, 'url'>, fault: unknown): void {
    if (this.present.url !== url || this.count === 1) return;
    this.#at = (this.#at + 1) % this.#all.length;
    this.#onLeave(fault);
  }
}

function addressOf(text: string): Address {
  const url = text.trim().replace(/\/+$/, '');
  const { origin, pathname } = new URL(url);
  return { url, origin, basePath: pathname.replace(/\/+$/, '') };
}
