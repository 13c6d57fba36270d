import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WorkerError } from '../errors.ts';
import { findProgram } from './programs.ts';

/** What tells a file from another one in its place; null where there is none. */
type Look = { inode: number; bytes: number; changed: number } | null;

/** What all of them were like at one moment. */
export type Looks = readonly Look[];

/** The files that the command of a runner names, as far as they were there when this program began. */
export class RunnerFiles {
  readonly #paths: readonly string[];
  /** What they were like when a task last succeeded; before the first, when this program began. */
  #known: Looks;

  private constructor(paths: readonly string[], known: Looks) {
    this.#paths = paths;
    this.#known = known;
  }

  static async of([program = '', ...args]: readonly string[]): Promise<RunnerFiles> {
    const paths = args
      .map((word) => (word.startsWith('file://') && URL.canParse(word) ? fileURLToPath(word) : word))
      .filter((word) => isAbsolute(word));
    const first = isAbsolute(program) ? program : await findProgram(program);
    const named = first === null ? paths : [first, ...paths];
    const looks = await Promise.all(named.map(lookAt));
    const isThere = (_: unknown, i: number) => looks[i] !== null;
    return new RunnerFiles(named.filter(isThere), looks.filter(isThere));
  }

  /** What they are like now. */
  look(): Promise<Looks> {
    return Promise.all(this.#paths.map(lookAt));
  }

  /** A task has succeeded that began when they were like this. */
  worked(looks: Looks): void {
    this.#known = this.#known.map((known, i) => looks[i] ?? known);
  }

  /**
   * The fault that one is gone, or empty.
   * @param mayBeEmpty whether one may be empty that was it before
   */
  async broken(mayBeEmpty: boolean): Promise<WorkerError | null> {
    const looks = await this.look();
    for (const [i, path] of this.#paths.entries()) {
      const now = looks[i];
      if (!now) return fault(`${path} is gone`);
      if (now.bytes === 0 && !(mayBeEmpty && this.#known[i]?.bytes === 0)) return fault(`${path} is empty`);
    }
    return null;
  }

  /** The fault that one is another than when the runner last worked: nobody knows yet whether it still does. */
  async changed(): Promise<WorkerError | null> {
    const looks = await this.look();
    const i = looks.findIndex((now, at) => !isSame(now, this.#known[at]));
    return i < 0
      ? null
      : new WorkerError(`${this.#paths[i]} has changed since the runner last worked here`, { own: true });
  }
}

const fault = (why: string) => new WorkerError(`this worker cannot start the runner: ${why}`, { own: true });

const isSame = (one: Look = null, other: Look = null): boolean =>
  one?.inode === other?.inode && one?.bytes === other?.bytes && one?.changed === other?.changed;

const lookAt = (path: string): Promise<Look> =>
  stat(path).then(
    (found) => (found.isFile() ? { inode: found.ino, bytes: found.size, changed: found.mtimeMs } : null),
    () => null,
  );
