import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readPlain } from '../files.ts';
import { endFamily, type Family, membersOf } from './family.ts';
import { bootId, statOf } from './proc.ts';

const MAX_NOTE_BYTES = 64 * 1024;

/** What names the processes of a task beyond doubt. */
interface ProcessMark {
  mark: string;
  boot: string;
  /** The leader and its start, once there is one: ids are used again, but not with the same start. */
  pid?: number;
  started?: number;
}

/**
 * Notes which processes run a task, for the worker program that comes after a crash; once before its child is
 * started, and once after it with the child's id. Synchronous, so that no moment is left in which a crash
 * would leave unknown processes.
 */
export function markProcess(file: string, mark: string, pid?: number): void {
  const started = pid === undefined ? undefined : statOf(pid)?.started;
  const noted: ProcessMark = { mark, boot: bootId(), ...(started !== undefined && { pid, started }) };
  // A file of its own that takes the place of whatever is there: a pipe would be waited for, a link followed.
  const draft = `${file}.draft`;
  rmSync(draft, { recursive: true, force: true });
  writeFileSync(draft, JSON.stringify(noted), { flag: 'wx' });
  renameSync(draft, file);
}

/**
 * Kills what an earlier worker program left running of a task. Works where there is a /proc; elsewhere it finds
 * nothing.
 * @param base what no link below is followed of; see `openPlain`
 * @returns whether there was something to kill
 */
export async function endMarked(file: string, base = dirname(file)): Promise<boolean> {
  const noted = await readMark(base, file);
  if (!noted || noted.boot !== bootId()) return false;
  const { mark, pid, started = 0 } = noted;
  // A leader with another start is a stranger that was given the same id; then the group is not the task's.
  const isThere = pid !== undefined && statOf(pid)?.started === started;
  const family: Family = { mark, leader: isThere ? pid : null, since: started };
  if (membersOf(family).length === 0) return false;
  await endFamily(family);
  return true;
}

async function readMark(base: string, file: string): Promise<ProcessMark | undefined> {
  try {
    const text = await readPlain(base, file, MAX_NOTE_BYTES);
    const { mark, boot, pid, started } = JSON.parse(text) as Record<string, unknown>;
    if (typeof mark !== 'string' || mark === '' || typeof boot !== 'string') return undefined;
    if (pid === undefined) return { mark, boot };
    // A process id of 1 or less would mean whole groups, or everything.
    const whole = Number.isInteger(pid) && (pid as number) > 1 && Number.isInteger(started);
    return whole ? { mark, boot, pid: pid as number, started: started as number } : undefined;
  } catch {
    return undefined;
  }
}
