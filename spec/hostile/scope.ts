/** The owner that ends what was started: a test, or a long run. */
export interface Scope {
  after(hook: () => unknown): void;
}

/** A scope that is ended by hand, its hooks in the order opposite to that of their coming. */
export class OpenScope implements Scope {
  readonly #hooks: (() => unknown)[] = [];

  after(hook: () => unknown): void {
    this.#hooks.push(hook);
  }

  async end(): Promise<void> {
    for (const hook of this.#hooks.splice(0).reverse()) await hook();
  }
}
