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

/** The id that the system had given last at a moment of the monotonic clock, in milliseconds. */
interface Look {
  last: number;
  at: number;
}

/** When all processes were looked at last; null where the system does not tell what it gives. */
let looked: Look | null = null;
/** More ids than any machine gives in a millisecond. */
const MOST_A_MS = 100;
/** How many it gives before it begins again. */
let ids: number | undefined;

/** @param since what is known to have started before is left out */
export function processTable(since = 0): ProcessRow[] {
  const rows: ProcessRow[] = [];
  const seen = new Set<string>();
  const earlier = looked;
  ids ??= numberIn('/proc/sys/kernel/pid_max') ?? 0;
  let before = look();
  looked = before;
  // To read them takes a while. What was started meanwhile, perhaps by one that has ended meanwhile, counts, too.
  for (let fresh = idsBeside(seen), round = 0; fresh.length > 0 && round < MOST_LISTINGS; round++) {
    const isGivenAnew = givenSince(round === 0 ? earlier : null, look(), ids);
    for (const id of fresh) {
      seen.add(id);
      const wasThere = known.get(id);
      if (wasThere !== undefined && wasThere.started < since) {
        if (!isGivenAnew(Number(id)) || wasThere.inode === inodeOf(id)) continue;
      }
      const inode = inodeOf(id);
      const row = statOf(Number(id));
      if (row) rows.push(row);
      // Only where it is the same process that both were read of.
      if (row && inode !== undefined && inode === inodeOf(id)) known.set(id, { inode, started: row.started });
    }
    const after = look();
    fresh = after !== null && after.last === before?.last ? [] : idsBeside(seen);
    before = after;
  }
  for (const id of known.keys()) if (!seen.has(id)) known.delete(id);
  return rows;
}

/**
 * Which ids may have been given to other processes between two looks: the system gives them in their order, and begins
 * again when it has given all.
 * @param ids how many there are
 */
export function givenSince(earlier: Look | null, now: Look | null, ids: number): (id: number) => boolean {
  if (earlier === null || now === null || (now.at - earlier.at) * MOST_A_MS >= ids) return () => true;
  const [from, to] = [earlier.last, now.last];
  return to >= from ? (id) => id > from && id <= to : (id) => id > from || id <= to;
}

function look(): Look | null {
  const at = performance.now();
  const last = numberIn('/proc/sys/kernel/ns_last_pid');
  return last === null ? null : { last, at };
}

function numberIn(file: string): number | null {
  try {
    return Number(readFileSync(file, 'latin1'));
  } catch {
    return null;
  }
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
