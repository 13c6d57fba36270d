import { readFileSync, writeFileSync } from 'node:fs';
import { endFamily, type Family, membersOf } from './family.ts';
import { bootId, statOf } from './proc.ts';

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
  writeFileSync(file, JSON.stringify(noted));
}

/**
 * Kills what an earlier worker program left running of a task. Works where there is a /proc; elsewhere it finds
 * nothing.
 * @returns whether there was something to kill
 */
export async function endMarked(file: string): Promise<boolean> {
  const noted = readMark(file);
  if (!noted || noted.boot !== bootId()) return false;
  const { mark, pid, started = 0 } = noted;
  // A leader with another start is a stranger that was given the same id; then the group is not the task's.
  const isThere = pid !== undefined && statOf(pid)?.started === started;
  const family: Family = { mark, leader: isThere ? pid : null, since: started };
  if (membersOf(family).length === 0) return false;
  await endFamily(family);
  return true;
}

function readMark(file: string): ProcessMark | undefined {
  try {
    const { mark, boot, pid, started } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    if (typeof mark !== 'string' || mark === '' || typeof boot !== 'string') return undefined;
    if (pid === undefined) return { mark, boot };
    // A process id of 1 or less would mean whole groups, or everything.
    const whole = Number.isInteger(pid) && (pid as number) > 1 && Number.isInteger(started);
    return whole ? { mark, boot, pid: pid as number, started: started as number } : undefined;
  } catch {
    return undefined;
  }
}
