import { readdir, readlink, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { StoreFault } from './fault.ts';
import type { Connection } from './open.ts';

/** Milliseconds between two looks. What is accepted between the loss and the look is safe only then. */
const EVERY_MS = 1_000;
/** Milliseconds for who removes or moves the whole folder, into which nothing has to come any more. */
const PATIENCE_MS = 500;
/** The database, its log, and the index of that, by which all who open them find each other. */
const FILES = ['', '-wal', '-shm'];

/**
 * Watches whether the files of a store stay where they are. SQLite goes on in files that somebody has removed, or put others
 * in the place of: what it writes there is gone with the process, though it was acknowledged. So what is there is saved, and
 * nothing more is written.
 */
export class Whereabouts {
  readonly #path: string;
  readonly #writer: Connection;
  readonly #inodeOf: InodeOf;
  readonly #timer: NodeJS.Timeout;
  /** The inodes that were seen first. */
  readonly #known = new Map<string, number>();
  #looking: Promise<void> | null = null;
  #writes = 0;
  #astray: StoreFault | null = null;
  /** Where what was accepted before is safe; null while it is not. */
  #safe: string | null = null;

  private constructor(path: string, writer: Connection, inodeOf: InodeOf) {
    this.#path = path;
    this.#writer = writer;
    this.#inodeOf = inodeOf;
    this.#timer = setInterval(() => this.look(), EVERY_MS);
    this.#timer.unref();
  }

  /**
   * @param writer once all connections are open, which make the files
   * @param inode stand-in for tests
   */
  static async of(path: string, writer: Connection, inode = inodeOf): Promise<Whereabouts> {
    const whereabouts = new Whereabouts(path, writer, inode);
    await whereabouts.look();
    return whereabouts;
  }

  /** Writes. @throws StoreFault while a file is not in its place */
  async writing(write: () => Promise<void>): Promise<void> {
    if (this.#astray !== null) {
      // Nobody is refused before what was accepted is safe, as far as it can be: from then on nothing waits for it.
      await this.#looking;
      if (this.#safe === null) await this.look();
      if (this.#astray !== null) throw this.#astray;
    }
    this.#writes++;
    try {
      await write();
    } finally {
      this.#writes--;
    }
  }

  /** What the owner of the store can do about a fault; null for those of others. */
  adviceOn(fault: unknown): string | null {
    if (this.#astray === null || fault !== this.#astray) return null;
    return `${this.#astray.message}; ${this.#wayOut()}`;
  }

  #wayOut(): string {
    if (this.#safe === this.#path) return `what was accepted is in ${this.#path}: start the server again`;
    if (this.#safe === null) return 'what was accepted is not safe: put back what was there';
    return (
      `what was accepted is in ${this.#safe}: put back what was there; or stop the server, put that in the place of ` +
      `${this.#path}, with no -wal and no -shm beside it, and start it again`
    );
  }

  /** Looks now, unless somebody does. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const gone: string[] = [];
    for (const file of FILES) {
      const path = this.#path + file;
      const inode = await this.#inodeOf(path);
      const known = this.#known.get(path);
      if (inode === undefined || inode === known) continue;
      if (known === undefined) {
        if (inode !== null) this.#known.set(path, inode);
      } else if (!(await isOpen(path))) gone.push(path);
    }
    if (gone.length === 0) {
      this.#astray = null;
      return;
    }
    if (this.#astray === null) {
      this.#astray = new StoreFault(`somebody has removed or replaced ${gone.join(' and ')}`);
      this.#safe = null;
    }
    // Another look comes where a turn is still being written.
    if (this.#safe === null && this.#writes === 0) {
      const isDatabaseThere = !gone.includes(this.#path);
      const isSaved = await (isDatabaseThere ? this.#checkpoint() : this.#copy());
      if (isSaved) this.#safe = isDatabaseThere ? this.#path : this.#saved;
    }
  }

  get #saved(): string {
    return `${this.#path}.saved`;
  }

  /** Brings the log into the database. */
  async #checkpoint(): Promise<boolean> {
    const told = await this.#writer
      .get<{ busy: number }>('PRAGMA wal_checkpoint(FULL)')
      .catch(() => undefined);
    return told?.busy === 0;
  }

  async #copy(): Promise<boolean> {
    await pause(PATIENCE_MS);
    if ((await this.#inodeOf(dirname(this.#path))) === null) return false;
    return this.#writer.run('VACUUM INTO ?', this.#saved).then(
      () => true,
      () => false,
    );
  }
}

/** Null where there is nothing; undefined where that cannot be seen. */
type InodeOf = (path: string) => Promise<number | null | undefined>;

async function inodeOf(path: string): ReturnType<InodeOf> {
  try {
    return (await stat(path)).ino;
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : undefined;
  }
}

/**
 * Whether what lies there is open in this process, where the system tells: some file systems give a file another number
 * from time to time. Not by opening it: to close it again would let go of SQLite's locks on it.
 */
async function isOpen(path: string): Promise<boolean> {
  try {
    const real = await realpath(path);
    for (const name of await readdir('/proc/self/fd')) {
      if ((await readlink(`/proc/self/fd/${name}`).catch(() => '')) === real) return true;
    }
  } catch {
    // There is nothing, or no such folder.
  }
  return false;
}
