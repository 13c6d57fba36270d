/** Counts what is under way, so that a stop can wait for it. */
export class InFlight {
  #count = 0;
  #whenIdle: () => void = () => {};

  /** How many are under way. */
  get count(): number {
    return this.#count;
  }

  enter(): void {
    this.#count++;
  }

  leave(): void {
    this.#count--;
    if (this.#count === 0) this.#whenIdle();
  }

  /** Resolves when nothing is under way, or after `limitMs`; tells how many still are. */
  async idle(limitMs: number): Promise<number> {
    if (this.#count === 0) return 0;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
      timer = setTimeout(resolve, limitMs);
    });
    clearTimeout(timer);
    return this.#count;
  }
}
