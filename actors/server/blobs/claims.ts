import type { ObjectBytes, ObjectDriver } from './driver.ts';

/** Who is about to have bytes named; equal bytes are one object with as many claims as uploads. */
export class Claims {
  readonly #driver: ObjectDriver;
  readonly #isNamed: (sha256: string) => Promise<boolean>;
  readonly #isLeaving: (sha256: string) => Promise<boolean>;
  readonly #counts = new Map<string, number>();
  readonly #last = new Map<string, Promise<unknown>>();
  /**
   * Those that have a mark: whether an artifact names their bytes is not known. What has none is named, or not there.
   */
  readonly #marked = new Set<string>();

  /**
   * @param isNamed whether an artifact of the store has this hash
   * @param isLeaving whether its bytes stay for their day of grace, and a backup may be copying them
   */
  constructor(
    driver: ObjectDriver,
    isNamed: (sha256: string) => Promise<boolean>,
    isLeaving: (sha256: string) => Promise<boolean>,
  ) {
    this.#driver = driver;
    this.#isNamed = isNamed;
    this.#isLeaving = isLeaving;
  }

  /** Brings a file to where its bytes belong; claimed until `release`. */
  place(path: string, bytes: ObjectBytes): Promise<void> {
    const { sha256 } = bytes;
    return this.alone(sha256, async () => {
      try {
        this.#marked.add(sha256);
        await this.#driver.mark(sha256);
        await this.#driver.place(path, bytes);
      } catch (error) {
        if (!this.#counts.has(sha256)) await this.clear(sha256).catch(() => {});
        throw error;
      }
      this.#counts.set(sha256, (this.#counts.get(sha256) ?? 0) + 1);
    });
  }

  /**
   * Claims bytes that lie in their place already, until `release`.
   * @param holds whether what lies there is whole
   * @param mayBeNew whether it is not known if an artifact names them, so that they go as those that were placed
   * @returns whether it is, and claimed
   */
  adopt(sha256: string, holds: () => Promise<boolean>, mayBeNew = false): Promise<boolean> {
    return this.alone(sha256, async () => {
      if (!(await holds())) return false;
      if (mayBeNew) {
        this.#marked.add(sha256);
        await this.#driver.mark(sha256);
      }
      this.#counts.set(sha256, (this.#counts.get(sha256) ?? 0) + 1);
      return true;
    });
  }

  /** The last one to go removes the mark, and bytes that no artifact names. */
  release(sha256: string, kept: boolean): Promise<void> {
    return this.alone(sha256, async () => {
      const left = (this.#counts.get(sha256) ?? 1) - 1;
      this.#counts.set(sha256, left);
      if (left > 0) return;
      this.#counts.delete(sha256);
      if (!this.#marked.delete(sha256)) return;
      if (kept) await this.#driver.unmark(sha256);
      else await this.clear(sha256);
    });
  }

  /** Removes the mark, and with it the bytes unless an artifact names them, or did until lately. */
  async clear(sha256: string): Promise<void> {
    if (!(await this.#isNamed(sha256)) && !(await this.#isLeaving(sha256))) await this.#driver.remove(sha256);
    await this.#driver.unmark(sha256);
  }

  /**
   * Removes bytes unless an artifact names them, or an upload that is under way has them.
   * @returns how many there were; null where nothing was there, or they are named
   */
  remove(sha256: string): Promise<number | 'claimed' | null> {
    return this.alone(sha256, async () => {
      if (this.#counts.has(sha256)) return 'claimed';
      return (await this.#isNamed(sha256)) ? null : this.#driver.remove(sha256);
    });
  }

  /** One after another for equal bytes: nobody removes what another one is just finding. */
  alone<T>(sha256: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(sha256) ?? Promise.resolve()).then(work);
    const over = mine
      .catch(() => {})
      .then(() => {
        if (this.#last.get(sha256) === over) this.#last.delete(sha256);
      });
    this.#last.set(sha256, over);
    return mine;
  }
}
