import { renameSync, rmSync, writeFileSync } from 'node:fs';
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
 * Notes which processes run a task, for the worker program that comes after a crash; once before its child is
 * started, and once after it with the child's id. Synchronous, so that no moment is left in which a crash
 * would leave unknown processes.
 */
export function markProcess(file: string, mark: string, cells: Cgroups | null, pid?: number): void {
  const started = pid === undefined ? undefined : system.rowOf(pid)?.started;
  const noted: ProcessMark = {
    mark,
    boot: system.boot(),
    ...(cells && { cell: cells.path(mark) }),
    ...(started !== undefined && { pid, started }),
  };
  // A file of its own that takes the place of whatever is there: a pipe would be waited for, a link followed.
  const draft = `${file}.draft`;
  const write = () => writeFileSync(draft, JSON.stringify(noted), { flag: 'wx' });
  try {
    write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    rmSync(draft, { recursive: true, force: true });
    write();
  }
  renameSync(draft, file);
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
  try {
    const noted = JSON.parse(await readPlain(base, file, MAX_NOTE_BYTES)) as Record<string, unknown>;
    const { mark, boot, pid, started } = noted;
    if (typeof mark !== 'string' || mark === '' || typeof boot !== 'string') return undefined;
    const folder = noted.cell;
    const isOwn = typeof folder === 'string' && basename(folder) === mark && isCgroup(folder);
    const cell = isOwn ? { cell: folder } : {};
    if (pid === undefined) return { mark, boot, ...cell };
    // A process id of 1 or less would mean whole groups, or everything.
    const whole = Number.isInteger(pid) && (pid as number) > 1 && Number.isInteger(started);
    return whole ? { mark, boot, ...cell, pid: pid as number, started: started as number } : undefined;
  } catch {
    return undefined;
  }
}
