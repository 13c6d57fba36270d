import { setTimeout as delay } from 'node:timers/promises';
import { processesIn } from './cgroup.ts';
import type { Processes, ProcessRow } from './processes.ts';
import { system } from './system.ts';

/**
 * The environment variable by which a process tells that it belongs to a task. Every descendant inherits it,
 * also one that leaves the process group and the session, or whose parent is gone.
 */
export const TAG_VARIABLE = 'JQ_TASK_MARK';

/** All processes of one task. */
export interface ProcessTree {
  /** Leads the process group and the session; null when it is gone so long that the id may be another's. */
  leader: number | null;
  /** Value of `TAG_VARIABLE`; of no other task, ever. */
  tag: string;
  /** Start of the leader, as the system counts: nothing that is older belongs to it. */
  since: number;
  /** The folder of its control group, where it has one: nothing leaves that. */
  cell?: string | undefined;
  /** Start by id of those that were found before: their parent may be gone by now, by which they were found. */
  seen?: Map<number, number>;
}

const FIRST_LOOK_MS = 2;
const LONGEST_LOOK_MS = 100;
const PATIENCE_MS = 5_000;
const MOST_ROUNDS = 20;

/**
 * The living processes of a tree: those of its control group, those of the leader's group or session, those that
 * carry the tag, and what these have started with another environment.
 */
export function membersOf(
  { leader, tag, since, cell, seen }: ProcessTree,
  processes: Processes = system,
): ProcessRow[] {
  const rows = new Map(processes.table(since).map((row) => [row.pid, row]));
  // Read after the table, so that what a member started meanwhile, before it ended, is not overlooked.
  const inside = new Set(cell === undefined ? [] : processesIn(cell));
  for (const pid of inside) {
    const row = rows.has(pid) ? undefined : processes.rowOf(pid);
    if (row) rows.set(pid, row);
  }
  const table = [...rows.values()].filter((row) => row.started >= since && row.pid !== process.pid);
  const found = new Set<number>();
  for (const { pid, group, session, started } of table) {
    const known = inside.has(pid) || group === leader || session === leader || seen?.get(pid) === started;
    if (known || processes.carries(pid, TAG_VARIABLE, tag)) found.add(pid);
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { pid, parent } of table) if (found.has(parent)) found.add(pid);
  }
  return table.filter(({ pid, zombie }) => found.has(pid) && !zombie);
}

/** Signals every process of a tree. */
export function signalTree(tree: ProcessTree, signal: NodeJS.Signals, processes: Processes = system): void {
  const members = find(tree, processes);
  if (tree.leader !== null) processes.signal(-tree.leader, signal);
  for (const { pid, group } of members) if (group !== tree.leader) processes.signal(pid, signal);
}

/**
 * Kills every process of a tree, until none is left.
 * @param patienceMs milliseconds after which it gives up, as for a process that hangs in the kernel
 * @returns the processes that would not go
 */
export async function killTree(
  tree: ProcessTree,
  patienceMs = PATIENCE_MS,
  processes: Processes = system,
): Promise<number[]> {
  const end = performance.now() + patienceMs;
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 2, LONGEST_LOOK_MS)) {
    const left = freeze(tree, processes);
    if (tree.leader !== null) processes.signal(-tree.leader, 'SIGKILL');
    for (const { pid } of left) processes.signal(pid, 'SIGKILL');
    if (left.length === 0 || performance.now() > end) return left.map(({ pid }) => pid);
    await delay(wait);
  }
}

/**
 * Stops the processes of a tree until no other one comes to light. What stands still neither forks nor ends, so
 * that the children of each are found by their parent before it dies.
 */
function freeze(tree: ProcessTree, processes: Processes): ProcessRow[] {
  let members = find(tree, processes);
  // Where there is nobody, nobody has started anybody meanwhile.
  for (let known = 0, round = 0; members.length !== known && round < MOST_ROUNDS; round++) {
    known = members.length;
    for (const { pid } of members) processes.signal(pid, 'SIGSTOP');
    members = find(tree, processes);
  }
  return members;
}

/** The living processes of a tree, now remembered. */
function find(tree: ProcessTree, processes: Processes): ProcessRow[] {
  const members = membersOf(tree, processes);
  tree.seen ??= new Map();
  for (const { pid, started } of members) tree.seen.set(pid, started);
  return members;
}
