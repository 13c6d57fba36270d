import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { kill, type Processes, type ProcessRow } from './processes.ts';

/** On a machine where processes come and go all the time there is always a new one. */
const MOST_LISTINGS = 10;

/** Linux: processes as /proc shows them; see proc(5). A start is counted in clock ticks from boot. */
export const procfs: Processes = {
  name: '/proc',
  table: processTable,
  rowOf: statOf,
  carries: hasVariable,
  boot: bootId,
  signal: kill,
  groups: true,
  limits: [],
};

export function statOf(pid: number): ProcessRow | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets, which may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const number = (field: number) => Number(fields[field - 3]);
    return {
      pid,
      parent: number(4),
      group: number(5),
      session: number(6),
      started: number(22),
      zombie: fields[0] === 'Z',
    };
  } catch {
    return undefined;
  }
}

/**
 * When processes started that were there before, by their ids. The system numbers the folder of each process anew, so
 * that of one that took over an id has another inode: to look at that is far cheaper than to have the system
 * count up what a process is and did.
 */
const known = new Map<string, { inode: number; started: number }>();

/** @param since what is known to have started before is left out */
export function processTable(since = 0): ProcessRow[] {
  const rows: ProcessRow[] = [];
  const seen = new Set<string>();
  // To read them takes a while. What was started meanwhile, perhaps by one that has ended meanwhile, counts, too.
  for (let fresh = idsBeside(seen), round = 0; fresh.length > 0 && round < MOST_LISTINGS; round++) {
    for (const id of fresh) {
      seen.add(id);
      const inode = inodeOf(id);
      const before = known.get(id);
      if (inode !== undefined && before?.inode === inode && before.started < since) continue;
      const row = statOf(Number(id));
      if (row) rows.push(row);
      // Only where it is the same process that both were read of.
      if (row && inode !== undefined && inode === inodeOf(id)) known.set(id, { inode, started: row.started });
    }
    fresh = idsBeside(seen);
  }
  for (const id of known.keys()) if (!seen.has(id)) known.delete(id);
  return rows;
}

function inodeOf(id: string): number | undefined {
  return lstatSync(`/proc/${id}`, { throwIfNoEntry: false })?.ino;
}

function idsBeside(seen: ReadonlySet<string>): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && !seen.has(name));
  } catch {
    return [];
  }
}

function hasVariable(pid: number, name: string, value: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${name}=${value}\0`);
  } catch {
    return false;
  }
}

/** Starts are counted from boot, so they mean nothing after the next one. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
