import { chmod, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { makeDirectory } from '../../../directory.ts';
import { sleep } from '../../link/backoff.ts';
import { tryLock, waitForLock } from './entry-lock.ts';

/** What an entry says of itself; written last, so that an entry with it is whole. */
interface Mark {
  /** Of the dataset, below the entry's folder. */
  path: string;
  bytes: number;
}

/** A dataset that stays in place until it is released. */
export interface Held {
  path: string;
  release(): Promise<void>;
}

const MARK_FILE = 'entry.json';
const LOOK_MS = 50;

/**
 * Datasets on disk, shared by all worker programs that name the same folder. Each entry has a lock: whoever uses
 * the entry shares it, whoever fills or removes it has it alone. So an entry is filled once, and never removed
 * under a task, and a process that dies holds nothing.
 */
export class DatasetCache {
  readonly #folder: string;
  readonly #limitBytes: number;
  readonly #log: Logger;
  /** Entries whose files were found complete by this process. */
  readonly #complete = new Set<string>();
  #evicting: Promise<void> | null = null;
  #evictAgain = false;

  constructor(folder: string, limitBytes: number, log: Logger) {
    this.#folder = folder;
    this.#limitBytes = limitBytes;
    this.#log = log;
  }

  /** Makes its folders. @throws the system's error */
  async open(): Promise<void> {
    for (const part of ['entries', 'drafts', 'locks']) await makeDirectory(join(this.#folder, part));
  }

  /**
   * The entry of this key, filled first if need be, by one at a time.
   * @param fill puts the dataset into the folder that it is given and returns its path below it
   */
  async use(key: string, fill: (draft: string) => Promise<string>, signal: AbortSignal): Promise<Held> {
    await this.open();
    const lockFile = join(this.#folder, 'locks', key);
    for (;;) {
      const shared = await waitForLock(lockFile, 'shared', signal);
      const path = await this.#find(key);
      if (path !== null) {
        this.evict();
        return {
          path,
          release: async () => {
            await shared.release();
            this.evict();
          },
        };
      }
      await shared.release();
      const alone = await tryLock(lockFile, 'exclusive');
      // Somebody else fills it just now, or has only looked.
      if (!alone) await sleep(LOOK_MS, signal);
      else await this.#fill(key, fill).finally(() => alone.release());
    }
  }

  /** Removes the least recently used entries that nobody uses, while all together exceed the limit. */
  evict(): void {
    // What was in use when the one under way came by may be free now.
    this.#evictAgain = this.#evicting !== null;
    this.#evicting ??= this.#evict()
      .catch((fault: Error) => this.#log.warn({ why: fault.message }, 'cannot clear the dataset cache'))
      .finally(() => {
        this.#evicting = null;
        if (this.#evictAgain) this.evict();
      });
  }

  async close(): Promise<void> {
    while (this.#evicting) await this.#evicting;
  }

  /** The path of the dataset of a whole entry, now used; null when there is none. */
  async #find(key: string): Promise<string | null> {
    const folder = this.#entry(key);
    const mark = await this.#mark(key);
    if (!mark) return null;
    if (!this.#complete.has(key)) {
      // After a crash of the machine, or when somebody tidied up here, files may be missing.
      const bytes = await measure(join(folder, 'data')).catch(() => -1);
      if (bytes !== mark.bytes) return null;
      this.#complete.add(key);
    }
    const now = new Date();
    await utimes(join(folder, MARK_FILE), now, now);
    return join(folder, mark.path);
  }

  async #fill(key: string, fill: (draft: string) => Promise<string>): Promise<void> {
    if ((await this.#find(key)) !== null) return;
    const draft = this.#draft(key);
    await rm(draft, { recursive: true, force: true });
    await makeDirectory(join(draft, 'data'));
    try {
      const path = await fill(draft);
      const bytes = await measure(join(draft, 'data'), (file) => chmod(file, 0o400));
      await writeFile(join(draft, MARK_FILE), JSON.stringify({ path, bytes } satisfies Mark));
      await rm(this.#entry(key), { recursive: true, force: true });
      await rename(draft, this.#entry(key));
      this.#complete.add(key);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }

  async #evict(): Promise<void> {
    // What a filling that died has left.
    for (const key of await readdir(join(this.#folder, 'drafts'))) await this.#alone(key, async () => {});
    const entries = await this.#list();
    let total = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    for (const { key, bytes } of entries.sort((a, b) => a.usedAt - b.usedAt)) {
      if (total <= this.#limitBytes) return;
      const removed = await this.#alone(key, () => rename(this.#entry(key), this.#draft(key)));
      if (removed) total -= bytes;
    }
  }

  /** With the lock of an entry that nobody uses: a step, after and before which there is no draft of it. */
  async #alone(key: string, step: () => Promise<void>): Promise<boolean> {
    const lock = await tryLock(join(this.#folder, 'locks', key), 'exclusive');
    if (!lock) return false;
    try {
      await rm(this.#draft(key), { recursive: true, force: true });
      await step();
      this.#complete.delete(key);
      await rm(this.#draft(key), { recursive: true, force: true });
      return true;
    } finally {
      await lock.release();
    }
  }

  async #list(): Promise<{ key: string; bytes: number; usedAt: number }[]> {
    const keys = await readdir(join(this.#folder, 'entries'));
    const found = await Promise.all(
      keys.map(async (key) => {
        const bytes = (await this.#mark(key))?.bytes ?? 0;
        const used = await stat(join(this.#entry(key), MARK_FILE)).catch(() => null);
        return { key, bytes, usedAt: used?.mtimeMs ?? 0 };
      }),
    );
    return found;
  }

  async #mark(key: string): Promise<Mark | null> {
    try {
      const { path, bytes } = JSON.parse(await readFile(join(this.#entry(key), MARK_FILE), 'utf8')) as Mark;
      return typeof path === 'string' && typeof bytes === 'number' ? { path, bytes } : null;
    } catch {
      return null;
    }
  }

  #entry(key: string): string {
    return join(this.#folder, 'entries', key);
  }

  #draft(key: string): string {
    return join(this.#folder, 'drafts', key);
  }
}

/** Bytes of all files below a folder. */
async function measure(folder: string, visit?: (file: string) => Promise<void>): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += await measure(path, visit);
    else {
      bytes += (await stat(path)).size;
      await visit?.(path);
    }
  }
  return bytes;
}
