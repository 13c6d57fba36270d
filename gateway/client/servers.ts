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
  #at = 0;

  /** @param text their addresses, separated by commas */
  constructor(text: string) {
    this.#all = text.split(',').map(addressOf);
  }

  get count(): number {
    return this.#all.length;
  }

  get present(): Address {
    return this.#all[this.#at] as Address;
  }

  /** Goes on with the next one, unless somebody else has done so since that one was asked. */
  leave({ url }: Pick<Address, 'url'>): void {
    if (this.present.url === url) this.#at = (this.#at + 1) % this.#all.length;
  }
}

function addressOf(text: string): Address {
  const url = text.trim().replace(/\/+$/, '');
  const { origin, pathname } = new URL(url);
  return { url, origin, basePath: pathname.replace(/\/+$/, '') };
}
