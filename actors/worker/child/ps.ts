import { execFileSync } from 'node:child_process';
import { kill, type Processes, type ProcessRow } from './processes.ts';

/** What `ps` prints of a process: id, parent, group, state, start, and its command with its environment. */
const COLUMNS = 'pid=,ppid=,pgid=,stat=,lstart=,command=';
const LINE = /^ *(\d+) +(\d+) +(\d+) +(\S+) +\w{3} (\w{3} +\d+ [\d:]{8} \d{4})(?: (.*))?$/;
/** Longer than any machine takes that can still do something. */
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 256 * 1024 * 1024;

/** Runs `ps` with these words and gives what it printed; throws where it cannot. */
export type RunPs = (words: readonly string[]) => string;

const runPs: RunPs = (words) =>
  execFileSync('ps', words, {
    encoding: 'latin1',
    // Starts are written in the language and the time zone of whoever asks.
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_BYTES,
  });

interface Listed extends ProcessRow {
  command: string;
}

/**
 * macOS, the BSDs, and Linux without /proc: processes as ps(1) shows them, in the words that all of these know. The
 * start is wall-clock time in seconds, so it means the same after the next boot.
 */
export function psProcesses(run: RunPs = runPs): Processes {
  let commands = new Map<number, string>();
  const list = (which: readonly string[]): Listed[] => {
    try {
      return parse(run([...which, '-o', COLUMNS]));
    } catch {
      // It ends with 1 where there is no such process.
      return [];
    }
  };
  return {
    name: 'ps',
    table() {
      // BSD words without a dash: of everybody, also without a terminal, with the environment, in full width.
      const listed = list(['axeww']);
      commands = new Map(listed.map(({ pid, command }) => [pid, command]));
      return listed.map(({ command: _, ...row }) => row);
    },
    rowOf(pid) {
      const [found] = list(['-p', `${pid}`]);
      if (!found) return undefined;
      const { command: _, ...row } = found;
      return row;
    },
    carries: (pid, name, value) => `${commands.get(pid) ?? ''} `.includes(` ${name}=${value} `),
    boot: () => 'wall clock',
    signal: kill,
    groups: true,
    limits: [
      'processes are found by ps, which does not show the environment of every program: one of a task that leaves its group may outlive it',
    ],
  };
}

function parse(text: string): Listed[] {
  const rows: Listed[] = [];
  for (const line of text.split('\n')) {
    const [, pid, parent, group, state = '', start, command = ''] = LINE.exec(line) ?? [];
    const last = rows.at(-1);
    if (pid !== undefined) {
      rows.push({
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: 0,
        started: Date.parse(`${start} UTC`) / 1000,
        zombie: state.startsWith('Z'),
        command,
      });
    }
    // An argument or a variable may hold the end of a line.
    else if (last) last.command += ` ${line}`;
  }
  return rows;
}
