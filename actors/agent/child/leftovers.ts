import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { killGroup } from './group.ts';

/** Names a process beyond doubt: ids are used again, but not with the same start. */
interface ProcessMark {
  pid: number;
  /** Clock ticks from boot to its start. */
  started: string;
  boot: string;
}

/**
 * Notes which process group runs a task, for the worker program that comes after a crash. Synchronous, so that
 * the moment in which a crash would leave an unknown group is as short as can be.
 */
export function markProcess(file: string, pid: number): void {
  const started = statOf(pid)?.started;
  if (started === undefined) return;
  writeFileSync(file, JSON.stringify({ pid, started, boot: bootId() } satisfies ProcessMark));
}

/**
 * Kills the process group that an earlier worker program left running, if the mark still names it. Works where
 * there is a /proc; elsewhere it finds nothing.
 * @returns whether there was something to kill
 */
export function killMarked(file: string): boolean {
  const mark = readMark(file);
  if (!mark || mark.boot !== bootId()) return false;
  const leader = statOf(mark.pid);
  // A leader with another start is a stranger that was given the same id; then nothing of the group is left.
  if (leader && leader.started !== mark.started) return false;
  if (!leader && !hasMembers(mark.pid)) return false;
  killGroup(mark.pid, 'SIGKILL');
  return true;
}

function readMark(file: string): ProcessMark | undefined {
  try {
    const mark = JSON.parse(readFileSync(file, 'utf8')) as Partial<ProcessMark>;
    const whole = Number.isInteger(mark.pid) && (mark.pid as number) > 1 && mark.started && mark.boot;
    return whole ? (mark as ProcessMark) : undefined;
  } catch {
    return undefined;
  }
}

/** Start and group of a process; undefined when there is none (any more). See proc(5), `stat`. */
export function statOf(pid: number): { started: string; group: number; zombie: boolean } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets, which may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { zombie: fields[0] === 'Z', group: Number(fields[2]), started: fields[19] as string };
  } catch {
    return undefined;
  }
}

function hasMembers(group: number): boolean {
  try {
    return readdirSync('/proc').some((name) => /^\d+$/.test(name) && statOf(Number(name))?.group === group);
  } catch {
    return false;
  }
}

/** Starts are counted from boot, so they mean nothing after the next one. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
