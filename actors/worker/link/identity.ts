import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../delivery/durable.ts';
import { machineId } from './machine-id.ts';

/** Where a state directory lies: what a copy of it does not share. */
export interface Place {
  machine: string;
  /** Of the directory, without links. */
  path: string;
  inode: string;
}

interface Note extends Partial<Place> {
  worker_id?: string;
}

/**
 * Who the worker is, kept in the state directory, so that a restarted worker is the same one to the server, and what
 * tells that directory from a copy of it: a copy is a worker of its own.
 */
export class Identity {
  readonly #state: string;
  readonly #file: string;
  readonly #machine: () => Promise<string>;
  /** Given up by this process, whatever the file says. */
  #forgotten = false;

  constructor(state: string, machine: () => Promise<string> = machineId) {
    this.#state = state;
    this.#file = join(state, 'worker.json');
    this.#machine = machine;
  }

  /** Why the directory is taken for a copy of another worker's, which may well be at work; null where it is none. */
  async copied(): Promise<string | null> {
    const { machine, path, inode } = await this.#note();
    // An older program noted no more than the id.
    if (machine === undefined || path === undefined || inode === undefined) return null;
    const here = await this.#place();
    if (machine !== here.machine) return 'it was written on another machine';
    if (inode !== here.inode) return `it is a copy of ${path}`;
    // File systems number their files each by itself, so another one may have the same number.
    const isThere = path !== here.path && (await inodeOf(path)) === inode && (await isOther(path, here.path));
    return isThere ? `it is a copy of ${path}` : null;
  }

  async read(): Promise<string | undefined> {
    return this.#forgotten ? undefined : (await this.#note()).worker_id;
  }

  async write(workerId: string): Promise<void> {
    await this.#write({ worker_id: workerId, ...(await this.#place()) });
    this.#forgotten = false;
  }

  /** From now on this is another worker: `read` finds no id until the next `write`. */
  async forget(): Promise<void> {
    this.#forgotten = true;
    await this.#write(await this.#place());
  }

  async #write(note: Note): Promise<void> {
    const text = `${JSON.stringify(note)}\n`;
    if ((await readFile(this.#file, 'utf8').catch(() => '')) !== text) await writeDurably(this.#file, text);
  }

  async #note(): Promise<Note> {
    try {
      const note = JSON.parse(await readFile(this.#file, 'utf8')) as Record<string, unknown>;
      return Object.fromEntries(
        Object.entries(note).filter(([, value]) => typeof value === 'string' && value !== ''),
      );
    } catch {
      return {};
    }
  }

  async #place(): Promise<Place> {
    const path = await realpath(this.#state);
    return { machine: await this.#machine(), path, inode: (await inodeOf(path)) ?? '' };
  }
}

const inodeOf = (path: string): Promise<string | null> =>
  stat(path, { bigint: true }).then(
    ({ ino }) => String(ino),
    () => null,
  );

async function isOther(path: string, than: string): Promise<boolean> {
  const [one, two] = await Promise.all([stat(path, { bigint: true }), stat(than, { bigint: true })]);
  return one.dev !== two.dev || one.ino !== two.ino;
}
