import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { Logger } from 'pino';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import type { Lock } from '../../../shared/lock.ts';
import { sleep } from '../../link/backoff.ts';
import { Entries, type Mark } from './entries.ts';
import { tryLock, waitForLock } from './entry-lock.ts';
import { Eviction } from './eviction.ts';
import { contentOf, stampOf } from './members.ts';

/** An input that stays in place until it is released. */
export interface Held {
  /** Absolute; a file, or the folder of what was unpacked. Never to be written to. */
  path: string;
  /** Whether it is still as it was when it was handed out. */
  intact(): Promise<boolean>;
  release(): Promise<void>;
}

interface CacheOptions {
  folder: string;
  limitBytes: number;
  log: Logger;
}

const LOOK_MS = 50;

/**
 * Inputs on disk, by the SHA-256 of the file that they came from, shared by all worker programs that name the same
 * folder. Each entry has a lock: whoever uses the entry shares it, whoever fills or removes it has it alone, and
 * whoever filled it goes on to share it without letting go. So an entry is filled once, and never removed under its
 * users, nor before the first of them has it, and a process that dies holds nothing.
 *
 * What lies there may be changed behind its back, by a task that is careless, a person, or the disk. Each process
 * reads an entry whole before it uses it for the first time, and compares it with the digest that was made when it was
 * filled; from then on, at each use, it compares what the system notes of each file (size, inode, times). An entry that
 * is not what it was is filled anew.
 */
export class InputCache {
  readonly #options: CacheOptions;
  readonly #entries: Entries;
  readonly #eviction: Eviction;
  #hits = 0;
  #misses = 0;
  /** How many are about to use an entry. */
  readonly #wanted = new Map<string, number>();
  /** What this process found out about the entry with a stamp; under way where several ask at the same time. */
  readonly #checks = new Map<string, { stamp: string; isWhole: Promise<boolean> }>();

  constructor(options: CacheOptions) {
    this.#options = options;
    this.#entries = new Entries(options.folder);
    this.#eviction = new Eviction(this.#entries, options, {
      isWanted: (key) => this.#wanted.has(key),
      onRemove: (key) => this.#checks.delete(key),
    });
  }

  /** What it has, and how often something was there that was asked for. */
  get usage() {
    return { ...this.#eviction.usage, hits: this.#hits, misses: this.#misses };
  }

  /** Makes its folders and clears what is left of a crash. @throws StartError where inputs cannot be kept */
  async open(): Promise<void> {
    const { folder } = this.#options;
    try {
      await this.#entries.open();
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? String(error);
      throw new StartError(
        'state_unwritable',
        `cannot write to the input cache ${folder} (${why}); choose another with --cache-dir`,
      );
    }
    this.#eviction.start();
  }

  /**
   * The entry of this key, filled first if need be, by one at a time.
   * @param fill puts the data below the folder `data` of the draft that it is given and returns its path below the
   * draft
   */
  async use(key: string, fill: (draft: string) => Promise<string>, signal: AbortSignal): Promise<Held> {
    await this.#entries.open();
    this.#wanted.set(key, (this.#wanted.get(key) ?? 0) + 1);
    try {
      return await this.#taken(key, fill, signal);
    } catch (error) {
      this.#eviction.released();
      throw error;
    } finally {
      const others = (this.#wanted.get(key) ?? 1) - 1;
      if (others > 0) this.#wanted.set(key, others);
      else this.#wanted.delete(key);
    }
  }

  async #taken(key: string, fill: (draft: string) => Promise<string>, signal: AbortSignal): Promise<Held> {
    const lockFile = this.#entries.lock(key);
    for (let isFirst = true; ; isFirst = false) {
      const shared = await waitForLock(lockFile, 'shared', signal);
      const held = await under(shared, () => this.#held(key, shared, signal));
      if (held !== null) {
        if (isFirst) this.#hits++;
        else this.#misses++;
        return held;
      }
      const alone = await tryLock(lockFile, 'exclusive');
      if (!alone) {
        // Somebody else fills it just now, or uses what it was before it was changed.
        await sleep(LOOK_MS, signal);
        continue;
      }
      const filled = await under(alone, async () => {
        if (!(await this.#fill(key, fill, signal))) return null;
        await alone.share();
        return this.#held(key, alone, signal);
      });
      if (filled === null) continue;
      this.#misses++;
      return filled;
    }
  }

  /** Removes all that nobody uses, for a disk that is full. @returns whether there was anything */
  makeRoom(): Promise<boolean> {
    return this.#eviction.makeRoom();
  }

  /** Removes what exceeds the limits, which move with the room on the disk. */
  async trim(): Promise<void> {
    this.#eviction.start();
    await this.#eviction.settled();
  }

  async close(): Promise<void> {
    await this.#eviction.settled();
  }

  /** The entry, with the lock that keeps it in place; null when there is no whole one. */
  async #held(key: string, lock: Lock, signal: AbortSignal): Promise<Held | null> {
    const found = await this.#find(key, signal);
    if (found === null) return null;
    await this.#entries.touch(key);
    return {
      path: this.#entries.data(key, found.mark),
      intact: async () => (await this.#stamp(key)) === found.stamp,
      release: async () => {
        await lock.release();
        this.#eviction.released();
      },
    };
  }

  /** A whole entry, with the stamp that it has now; null when there is none. */
  async #find(key: string, signal: AbortSignal): Promise<{ mark: Mark; stamp: string } | null> {
    const mark = await this.#entries.mark(key);
    if (mark === null) return null;
    const members = await this.#entries.members(key);
    // A mark that is not what it was may name anything.
    if (!members?.some(({ path }) => path === this.#entries.data(key, mark))) return null;
    const stamp = stampOf(members);
    let check = this.#checks.get(key);
    if (check?.stamp !== stamp) {
      const { log } = this.#options;
      const isWhole = contentOf(members)
        .then((content) => content === mark.content)
        .catch(() => false)
        .then((is) => {
          if (!is) log.warn({ key }, 'an input in the cache is not what it was; it is fetched again');
          return is;
        });
      check = { stamp, isWhole };
      this.#checks.set(key, check);
    }
    return (await orAborted(check.isWhole, signal)) ? { mark, stamp } : null;
  }

  async #stamp(key: string): Promise<string | null> {
    const members = await this.#entries.members(key);
    return members && stampOf(members);
  }

  /** Whether it is there now; where not, room was made for it. Needs the lock alone. */
  async #fill(key: string, fill: (draft: string) => Promise<string>, signal: AbortSignal): Promise<boolean> {
    if ((await this.#find(key, signal)) !== null) return true;
    try {
      const path = await fill(await this.#entries.draft(key));
      const { stamp } = await this.#entries.publish(key, path);
      this.#checks.set(key, { stamp, isWhole: Promise.resolve(true) });
      this.#eviction.start();
      return true;
    } catch (error) {
      await this.#entries.dropDraft(key);
      if (!isDiskFull(error) || !(await this.makeRoom())) throw error;
      return false;
    }
  }
}

/** What a step holds by a lock, which is released where that is nothing. */
async function under(lock: Lock, step: () => Promise<Held | null>): Promise<Held | null> {
  let held: Held | null = null;
  try {
    held = await step();
    return held;
  } finally {
    if (held === null) await lock.release();
  }
}

/** Whether the system's error says that a disk, or a quota of it, is used up. */
export const isDiskFull = (error: unknown): boolean =>
  /^(ENOSPC|EDQUOT)$/.test(String((error as NodeJS.ErrnoException | null)?.code));

/** The value of something that others wait for, too; rejects with `AbortError` when aborted. */
function orAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    value.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
