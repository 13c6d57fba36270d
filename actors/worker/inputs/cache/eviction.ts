import { statfs } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Entries } from './entries.ts';
import { tryLock } from './entry-lock.ts';

interface EvictionOptions {
  folder: string;
  limitBytes: number;
  log: Logger;
}

/** What is told of entries. */
interface Told {
  /** Whether this process is about to use one, or fills it: between the two nobody holds its lock. */
  isWanted(key: string): boolean;
  onRemove(key: string): void;
}

/** What the folders, the mark and the lock of an entry take beside its data. */
const OVERHEAD_BYTES = 16 * 1024;
/** However small they are: each is looked at, and has a lock. */
const MOST_ENTRIES = 10_000;
/** So many remain when there were too many: otherwise all would be looked at for each that comes. */
const FEWER_ENTRIES = 9_000;

/** Keeps a cache within its limits: the least recently used entries that nobody uses go first. */
export class Eviction {
  readonly #entries: Entries;
  readonly #options: EvictionOptions;
  readonly #told: Told;
  /** Of entries that were looked at; an entry never changes. */
  readonly #bytes = new Map<string, number>();
  #pass: Promise<void> | null = null;
  #again = false;
  /** Whether the last pass left more than it should, since it was in use. */
  #isOver = false;

  constructor(entries: Entries, options: EvictionOptions, told: Told) {
    this.#entries = entries;
    this.#options = options;
    this.#told = told;
  }

  /** Of the entries that the last pass has seen. */
  get usage(): { entries: number; bytes: number } {
    return { entries: this.#bytes.size, bytes: [...this.#bytes.values()].reduce((sum, n) => sum + n, 0) };
  }

  /** Begins a pass, or another one after the one under way. */
  start(): void {
    this.#again = this.#pass !== null;
    this.#pass ??= this.#trim()
      .catch((error: Error) => this.#options.log.warn({ why: error.message }, 'cannot clear the input cache'))
      .finally(() => {
        this.#pass = null;
        if (this.#again) this.start();
      });
  }

  /** Something in use was released: it may be what is to go. */
  released(): void {
    if (this.#isOver || this.#pass) this.start();
  }

  async settled(): Promise<void> {
    while (this.#pass) await this.#pass;
  }

  /** Removes all that nobody uses. @returns whether there was anything */
  async makeRoom(): Promise<boolean> {
    let removed = false;
    for (const key of await this.#entries.keys()) removed = (await this.#remove(key)) || removed;
    return removed;
  }

  async #trim(): Promise<void> {
    // What a filling that died has left.
    for (const key of await this.#entries.drafts())
      await this.#alone(key, () => this.#entries.dropDraft(key).then(() => true));
    const keys = await this.#measured();
    let count = keys.length;
    let total = keys.reduce((sum, key) => sum + (this.#bytes.get(key) ?? 0), 0);
    const bound = await this.#bound(total);
    const most = count > MOST_ENTRIES ? FEWER_ENTRIES : MOST_ENTRIES;
    const isOver = () => total > bound || count > most;
    if (isOver()) {
      for (const key of await this.#byUse(keys)) {
        const bytes = this.#bytes.get(key) ?? 0;
        if (!(await this.#remove(key))) continue;
        total -= bytes;
        count--;
        if (!isOver()) break;
      }
    }
    this.#isOver = isOver();
  }

  /** Never more than half of what the disk would have free without the cache: tasks need room, too. */
  async #bound(total: number): Promise<number> {
    const { folder, limitBytes } = this.#options;
    const disk = await statfs(folder).catch(() => null);
    return disk === null ? limitBytes : Math.min(limitBytes, (total + disk.bavail * disk.bsize) / 2);
  }

  /** The keys of whole entries, whose bytes are known then; others, and those of earlier versions, are removed. */
  async #measured(): Promise<string[]> {
    const keys = await this.#entries.keys();
    const there = new Set(keys);
    for (const key of this.#bytes.keys()) if (!there.has(key)) this.#bytes.delete(key);
    for (const key of keys) {
      if (this.#bytes.has(key) || (await this.#measure(key))) continue;
      // Another process may have filled it since.
      await this.#remove(key, async () => !(await this.#measure(key)));
    }
    return keys.filter((key) => this.#bytes.has(key));
  }

  /** Notes what an entry takes; whether it is a whole one. */
  async #measure(key: string): Promise<boolean> {
    const mark = await this.#entries.mark(key);
    if (mark) this.#bytes.set(key, mark.bytes + OVERHEAD_BYTES);
    return mark !== null;
  }

  /** The least recently used first. */
  async #byUse(keys: readonly string[]): Promise<string[]> {
    const used = await Promise.all(
      keys.map(async (key): Promise<[string, number]> => [key, await this.#entries.usedAt(key)]),
    );
    return used.sort(([, a], [, b]) => a - b).map(([key]) => key);
  }

  /**
   * Whether it is gone, by this process or another.
   * @param isDue asked once nobody else can change the entry
   */
  async #remove(key: string, isDue: () => Promise<boolean> = async () => true): Promise<boolean> {
    const isFree = () => !this.#told.isWanted(key);
    if (!isFree()) return false;
    return this.#alone(key, async () => {
      if (!(await isDue()) || !isFree()) return false;
      await this.#entries.remove(key);
      this.#bytes.delete(key);
      this.#told.onRemove(key);
      return true;
    });
  }

  /** A step with the lock of an entry that nobody uses; false where another has it. */
  async #alone(key: string, step: () => Promise<boolean>): Promise<boolean> {
    const lock = await tryLock(this.#entries.lock(key), 'exclusive');
    if (!lock) return false;
    try {
      return await step();
    } finally {
      await lock.release();
    }
  }
}
