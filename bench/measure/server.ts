import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../bin/jq-server', import.meta.url));
/** Clock ticks a second in /proc: fixed at 100 for all programs on Linux (`man 5 proc`, USER_HZ). */
const TICKS = 100;
const PAGE_FLAG_RESET_PEAK = '5';

/** What a server used between two moments. */
export interface Usage {
  cpuSeconds: number;
  /** Highest resident memory, bytes. */
  peakBytes: number;
  /** Resident memory now, bytes. */
  bytes: number;
}

export interface MeasuredServer {
  readonly url: string;
  readonly pid: number;
  readonly state: string;
  /** Seconds from the start of the process until it listened. */
  readonly startSeconds: number;
  /** Forgets the processor time and the peak of memory so far. */
  reset(): void;
  /** What was used since the start or the last `reset`. */
  usage(): Usage;
  /** Ends it in an orderly way. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * What a workload says of its server: seconds after which leases expire and workers count as dead, what speaks HTTP, and
 * the address of its store, which else lies in the state directory.
 */
export interface Settings {
  leaseTtl: number;
  workerDeadAfter: number;
  transport: 'auto' | 'uws' | 'node';
  store: string | undefined;
}

/** Times so long that no figure depends on heartbeats. */
const USUAL: Settings = { leaseTtl: 7200, workerDeadAfter: 7200, transport: 'auto', store: undefined };

/**
 * A real `bin/jq-server` on a state directory.
 * @param profile a directory that gets a CPU profile when the server has stopped
 */
export async function startServer(
  state: string,
  profile?: string,
  settings: Partial<Settings> = {},
): Promise<MeasuredServer> {
  const argv = ['--port', '0', '--state', state, '--json', '--log-level', 'warn'];
  const { leaseTtl, workerDeadAfter, transport, store } = { ...USUAL, ...settings };
  argv.push(
    '--lease-ttl',
    `${leaseTtl}`,
    '--worker-dead-after',
    `${workerDeadAfter}`,
    '--transport',
    transport,
  );
  if (store !== undefined) argv.push('--store', store);
  // It must be shorter than both.
  if (Math.min(leaseTtl, workerDeadAfter) < USUAL.leaseTtl) argv.push('--heartbeat-interval', '1');
  const options = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
  const began = performance.now();
  const child = spawn(process.execPath, [...options, PROGRAM, ...argv], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  const exited = once(child, 'exit').then(() => running.delete(child));
  const url = await listening(child);
  const startSeconds = (performance.now() - began) / 1000;
  const pid = child.pid as number;
  let cpuBefore = 0;
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
  };
  return {
    url,
    pid,
    state,
    startSeconds,
    reset() {
      writeFileSync(`/proc/${pid}/clear_refs`, PAGE_FLAG_RESET_PEAK);
      cpuBefore = cpuSeconds(pid);
    },
    usage: () => ({ cpuSeconds: cpuSeconds(pid) - cpuBefore, ...memory(pid) }),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

/** Processor time, user and system, of all threads of a process so far, in seconds. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in parentheses, may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** Processor time of a process's main thread so far, in milliseconds (kernel documentation, "sched-stats"). */
export function mainThreadCpu(pid: number): number {
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1e6;
}

/** Resident memory of a process, in bytes: its peak and now. */
export function memory(pid: number): { peakBytes: number; bytes: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kibibytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return { peakBytes: kibibytes('VmHWM') * 1024, bytes: kibibytes('VmRSS') * 1024 };
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      said += chunk;
      const line = said.split('\n').find((text) => text.includes('"listening"'));
      if (line) resolve((JSON.parse(line) as { url: string }).url);
    });
    child.once('error', reject);
    child.once('exit', (code) =>
      reject(new Error(`jq-server ended with ${code} before it listened: ${said}`)),
    );
  });
}
