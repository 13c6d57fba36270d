import { mkdirSync, readdirSync, readFileSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** `CGROUP2_SUPER_MAGIC` of Linux. */
const CGROUP2_MAGIC = 0x63677270;
const PROCESSES = 'cgroup.procs';
/** Milliseconds for which the kernel is surely ready to move another process without waiting. */
const READY_MS = 3;

/**
 * A control group of version 2 for each task, where this process may make some below its own: whatever a process in
 * it starts is in it too, and nothing that a process does to its group, session, parent or environment gets it out.
 * See cgroups(7). It limits nothing.
 */
export class Cgroups {
  /** The folder of all of them; whoever kills what is below ends all tasks. */
  readonly folder: string;
  /** A process that lives in this program's own control group as long as it does; see `ready`. */
  companion: number | undefined;
  readonly #own: string;
  #movedAt = Number.NEGATIVE_INFINITY;
  #moving: Promise<void> | null = null;

  private constructor(folder: string, own: string) {
    this.folder = folder;
    this.#own = own;
  }

  /**
   * @param name of the folder; no other worker's, ever
   * @returns null where this process may make none, or is in none
   */
  static open(name: string, own: string | null = ownGroup()): Cgroups | null {
    if (own === null) return null;
    const folder = join(own, name);
    try {
      // To come back from a group takes the right to enter one's own.
      enter(own);
      mkdirSync(folder);
      enter(folder);
      enter(own);
      return new Cgroups(folder, own);
    } catch {
      removeCgroup(folder);
      return null;
    }
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /**
   * To be awaited before `startIn`. Before the kernel moves a process it waits until every processor has changed what it
   * runs, for 10 ms and more, unless one was moved a moment ago. So another thread does that first, by moving the companion to
   * where it is, while this one goes on with other tasks.
   */
  async ready(): Promise<void> {
    const { companion } = this;
    if (companion === undefined || performance.now() - this.#movedAt < READY_MS) return;
    this.#moving ??= writeFile(join(this.#own, PROCESSES), `${companion}`)
      .catch(() => {})
      .finally(() => {
        this.#moving = null;
        this.#movedAt = performance.now();
      });
    await this.#moving;
  }

  /**
   * Calls a function whose child processes are born in a cgroup: this process goes there for the time of the call,
   * which must not wait for anything. So no moment is left in which a child could start another one outside.
   */
  startIn<T>(name: string, start: () => T): T {
    // This process may have been moved since it began.
    const home = ownGroup();
    const cell = this.prepare(name);
    try {
      if (cell !== null && home !== null) enter(cell);
    } catch {
      // As above.
    }
    try {
      return start();
    } finally {
      try {
        if (home !== null) enter(home);
        this.#movedAt = performance.now();
      } catch {
        // It stays there, and is in the next task's cgroup when it has to be: nobody kills whole cgroups while it
        // lives.
      }
    }
  }

  /** Makes a cgroup that a process will enter by itself; null where that fails. */
  prepare(name: string): string | null {
    try {
      mkdirSync(this.path(name), { recursive: true });
      return this.path(name);
    } catch {
      // A task without a cgroup is better than none.
      return null;
    }
  }

  /** Removes the folder, unless something still runs in it. */
  close(): void {
    removeCgroup(this.folder);
  }
}

/** Moves this process, with all its threads. */
const enter = (group: string) => writeFileSync(join(group, PROCESSES), '0');

/** Where control groups are mounted does not change while this process lives, and it is long to read. */
let mounts: string | undefined;

/** The folder of this process's own control group; null where there is none of version 2. */
export function ownGroup(): string | null {
  try {
    mounts ??= readFileSync('/proc/self/mountinfo', 'utf8');
    return groupFolder(readFileSync('/proc/self/cgroup', 'utf8'), mounts);
  } catch {
    return null;
  }
}

/** The same from the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`; see cgroups(7), proc(5). */
export function groupFolder(groups: string, mounts: string): string | null {
  const path = /^0::(\/.*)$/m.exec(groups)?.[1];
  const mount = mounts
    .split('\n')
    .find((line) => / - cgroup2 /.test(line))
    ?.split(' ');
  // A group outside of what this process may see is told as a way up.
  if (path === undefined || path.startsWith('/..') || mount === undefined) return null;
  // The fourth field is what of the hierarchy is mounted, the fifth where.
  const below = relative(unescaped(mount[3] ?? '/'), path);
  return below === '..' || below.startsWith('../') ? null : join(unescaped(mount[4] ?? ''), below);
}

/** Spaces and the like are written as octal numbers. */
const unescaped = (text: string) =>
  text.replace(/\\([0-7]{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)));

/** Whether a folder is a control group of version 2, and nothing that looks like one; see statfs(2). */
export function isCgroup(folder: string): boolean {
  try {
    return statfsSync(folder).type === CGROUP2_MAGIC;
  } catch {
    return false;
  }
}

/** The processes in a cgroup and in what they may have made below it; none where there is no such cgroup. */
export function processesIn(cell: string): number[] {
  try {
    const ids = readFileSync(join(cell, PROCESSES), 'utf8').split('\n').filter(Boolean).map(Number);
    return [...ids, ...foldersIn(cell).flatMap(processesIn)];
  } catch {
    return [];
  }
}

/** Removes a cgroup that has nobody in it, nor anything below it; whether it has. */
export function removeEmptyCgroup(cell: string): boolean {
  try {
    rmdirSync(cell);
    return true;
  } catch {
    // It is gone, or somebody lives there.
    return false;
  }
}

/** Removes a cgroup with what is below it. One in which something runs stays; so does what is no cgroup. */
export function removeCgroup(cell: string): void {
  // As a rule there is nothing below, and to look costs more.
  if (removeEmptyCgroup(cell)) return;
  for (const below of foldersIn(cell)) removeCgroup(below);
  removeEmptyCgroup(cell);
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}
