import { readdirSync, readFileSync } from 'node:fs';

/** On a machine where processes come and go all the time there is always a new one. */
const MOST_LISTINGS = 10;

/** A process as /proc shows it; see proc(5), `stat`. */
export interface ProcessRow {
  pid: number;
  parent: number;
  group: number;
  session: number;
  /** Clock ticks from boot to its start: together with its id, this names a process beyond doubt. */
  started: number;
  /** Ended, and not yet asked for by its parent. */
  zombie: boolean;
}

/** What is known of a process; undefined when there is none (any more), or no /proc. */
export function statOf(pid: number): ProcessRow | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
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

/** All processes of this machine; none where there is no /proc. */
export function processTable(): ProcessRow[] {
  const rows: ProcessRow[] = [];
  const seen = new Set<string>();
  // To read them takes a while. What was started meanwhile, perhaps by one that has ended meanwhile, counts, too.
  for (let fresh = idsBeside(seen), round = 0; fresh.length > 0 && round < MOST_LISTINGS; round++) {
    for (const id of fresh) {
      seen.add(id);
      const row = statOf(Number(id));
      if (row) rows.push(row);
    }
    fresh = idsBeside(seen);
  }
  return rows;
}

function idsBeside(seen: ReadonlySet<string>): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && !seen.has(name));
  } catch {
    return [];
  }
}

/** Whether a process was started with this environment variable; false where that must not be looked at. */
export function hasVariable(pid: number, name: string, value: string): boolean {
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
