import { closeSync, openSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { readPlain } from '../files.ts';
import { type Cgroups, isCgroup, removeCgroup, removeEmptyCgroup } from './cgroup.ts';
import { killTree, membersOf, type ProcessTree } from './process-tree.ts';
import { system } from './system.ts';

const MAX_NOTE_BYTES = 64 * 1024;

/** What names the processes of a task beyond doubt. */
interface ProcessMark {
  mark: string;
  boot: string;
  /** The folder of its control group, where it was to get one. */
  cell?: string;
  /** The leader and its start, once there is one: ids are used again, but not with the same start. */
  pid?: number | undefined;
  started?: number;
}

/**
 * A note in the directory of an attempt of whose it is and which processes run it, for the worker program that comes
 * after a crash. It is there before anything is started, and synchronous, so that no moment is left in which a crash
 * would leave unknown processes.
 */
export class AttemptNote {
  #file: number | null;

  /**
   * @param path of a file that is not there yet
   * @param about what else is to be known of the attempt
   * @param mark tags its processes; see `TAG_VARIABLE`
   * @throws the system's error
   */
  constructor(path: string, about: object, mark: string, cells: Cgroups | null) {
    this.#file = openSync(path, 'wx');
    try {
      this.#say({ ...about, mark, boot: system.boot(), ...(cells && { cell: cells.path(mark) }) });
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** The child has come to life. Whatever it puts in the place of the file, this goes to the one that was opened before. */
  leader(pid: number): void {
    const started = system.rowOf(pid)?.started;
    if (started !== undefined) this.#say({ pid, started });
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  /** A line in one go, so that no half of one is left by a program that is killed; on a full disk, where less is written, it throws. */
  #say(what: object): void {
    if (this.#file !== null) writeFileSync(this.#file, `${JSON.stringify(what)}\n`);
  }
}

/**
 * All that such a note says.
 * @param base what no link below is followed of; see `openPlain`
 * @returns nothing of one that cannot be read
 */
export async function readNote(base: string, path: string): Promise<Readonly<Record<string, unknown>>> {
  const text = await readPlain(base, path, MAX_NOTE_BYTES).catch(() => '');
  const note = {};
  try {
    for (const line of text.split('\n')) Object.assign(note, JSON.parse(line));
  } catch {
    // Behind the last line there is nothing, or a piece of one for which the disk had no room.
  }
  return note;
}

/**
 * Kills what an earlier worker program left running of a task. On Windows it finds nothing.
 * @param base what no link below is followed of; see `openPlain`
 * @returns whether there was something to kill
 */
export async function endMarked(file: string, base = dirname(file)): Promise<boolean> {
  const noted = await readMark(base, file);
  if (!noted || noted.boot !== system.boot()) return false;
  const { mark, cell, pid, started = 0 } = noted;
  // A leader with another start is a stranger that was given the same id; then the group is not the task's.
  const isThere = pid !== undefined && system.rowOf(pid)?.started === started;
  const tree: ProcessTree = { tag: mark, leader: isThere ? pid : null, since: started, cell };
  const isLeft = membersOf(tree).length > 0;
  if (isLeft) await killTree(tree);
  if (cell !== undefined) {
    removeCgroup(cell);
    // The folder of all tasks of that worker program, unless there are others.
    removeEmptyCgroup(dirname(cell));
  }
  return isLeft;
}

async function readMark(base: string, file: string): Promise<ProcessMark | undefined> {
  const { mark, boot, cell: folder, pid, started } = await readNote(base, file);
  if (typeof mark !== 'string' || mark === '' || typeof boot !== 'string') return undefined;
  const isOwn = typeof folder === 'string' && basename(folder) === mark && isCgroup(folder);
  const cell = isOwn ? { cell: folder } : {};
  if (pid === undefined) return { mark, boot, ...cell };
  // A process id of 1 or less would mean whole groups, or everything.
  const whole = Number.isInteger(pid) && (pid as number) > 1 && Number.isInteger(started);
  return whole ? { mark, boot, ...cell, pid: pid as number, started: started as number } : undefined;
}
