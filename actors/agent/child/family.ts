import { setTimeout as delay } from 'node:timers/promises';
import { hasVariable, type ProcessRow, processTable } from './proc.ts';

/**
 * The environment variable by which a process tells that it belongs to a task. Every descendant inherits it,
 * also one that leaves the process group and the session, or whose parent is gone.
 */
export const MARK = 'JQ_TASK_MARK';

/** All processes of one task. */
export interface Family {
  /** Leads the process group and the session; null when it is gone so long that the id may be another's. */
  leader: number | null;
  /** Value of `MARK`; of no other task, ever. */
  mark: string;
  /** Start of the leader, in clock ticks from boot: nothing that is older belongs to it. */
  since: number;
  /** Start by id of those that were found before: their parent may be gone by now, by which they were found. */
  seen?: Map<number, number>;
}

const FIRST_LOOK_MS = 2;
const LONGEST_LOOK_MS = 100;
const PATIENCE_MS = 5_000;
const MOST_ROUNDS = 20;

/**
 * The living processes of a family: those of the leader's group or session, those that carry the mark, and what
 * these have started with another environment. Where there is no /proc it finds none.
 */
export function membersOf({ leader, mark, since, seen }: Family): ProcessRow[] {
  const table = processTable().filter((row) => row.started >= since && row.pid !== process.pid);
  const found = new Set<number>();
  for (const { pid, group, session, started } of table) {
    const known = group === leader || session === leader || seen?.get(pid) === started;
    if (known || hasVariable(pid, MARK, mark)) found.add(pid);
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { pid, parent } of table) if (found.has(parent)) found.add(pid);
  }
  return table.filter(({ pid, zombie }) => found.has(pid) && !zombie);
}

/** Signals every process of a family. */
export function signalFamily(family: Family, signal: NodeJS.Signals): void {
  const members = find(family);
  if (family.leader !== null) killQuietly(-family.leader, signal);
  for (const { pid, group } of members) if (group !== family.leader) killQuietly(pid, signal);
}

/**
 * Kills every process of a family, until none is left.
 * @param patienceMs milliseconds after which it gives up, as for a process that hangs in the kernel
 * @returns the processes that would not go
 */
export async function endFamily(family: Family, patienceMs = PATIENCE_MS): Promise<number[]> {
  const end = performance.now() + patienceMs;
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 2, LONGEST_LOOK_MS)) {
    const left = freeze(family);
    if (family.leader !== null) killQuietly(-family.leader, 'SIGKILL');
    for (const { pid } of left) killQuietly(pid, 'SIGKILL');
    if (left.length === 0 || performance.now() > end) return left.map(({ pid }) => pid);
    await delay(wait);
  }
}

/**
 * Stops the processes of a family until no other one comes to light. What stands still neither forks nor ends, so
 * that the children of each are found by their parent before it dies.
 */
function freeze(family: Family): ProcessRow[] {
  let members = find(family);
  for (let known = -1, round = 0; members.length !== known && round < MOST_ROUNDS; round++) {
    known = members.length;
    for (const { pid } of members) killQuietly(pid, 'SIGSTOP');
    members = find(family);
  }
  return members;
}

/** The living processes of a family, now remembered. */
function find(family: Family): ProcessRow[] {
  const members = membersOf(family);
  family.seen ??= new Map();
  for (const { pid, started } of members) family.seen.set(pid, started);
  return members;
}

/** Signals a process, or a whole group by its negative id; one that has ended already is no fault. */
function killQuietly(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(id, signal);
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    // EPERM: it belongs to somebody else by now, or is a zombie (macOS).
    if (code !== 'ESRCH' && code !== 'EPERM') throw fault;
  }
}
