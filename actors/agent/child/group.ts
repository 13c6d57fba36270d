import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cells, removeCell } from './cgroup.ts';
import { endFamily, type Family, MARK, signalFamily } from './family.ts';
import { system } from './system.ts';

export interface ChildOptions {
  command: string;
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** What the environment of each of its processes says; see `MARK`. */
  mark: string;
  /** Where control groups may be made: it gets one of its own. */
  cells?: Cells | null;
  /** Milliseconds between SIGTERM and SIGKILL. */
  graceMs: number;
  /** Milliseconds for what is left in the pipes of a child that has ended. Default 2,000. */
  drainMs?: number;
  /** Aborted: the child is terminated, with all that it started. */
  signal: AbortSignal;
  /** Called with the process id, which is the id of its group, before the child does anything of note. */
  onSpawn(pid: number): void;
  stdout(stream: Readable): void;
  stderr(stream: Readable): void;
}

export interface ChildEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** How long it ran. */
  seconds: number;
  /** Processes of it that not even SIGKILL has ended, because they hang in the kernel. */
  survivors: number[];
}

const DRAIN_MS = 2_000;

/**
 * Runs a program as the leader of its own process group until it ends, and leaves nothing behind: whatever it
 * started is killed when the leader is gone, in the group or out of it. A process that holds its output pipes
 * open does not delay the answer. Rejects when the program cannot be started.
 */
export async function runGroup(options: ChildOptions): Promise<ChildEnd> {
  const { command, args, cwd, env, mark, cells, graceMs, signal } = options;
  signal.throwIfAborted();
  const startedAt = performance.now();
  const begin = () =>
    spawn(command, args, {
      cwd,
      env: { ...env, [MARK]: mark },
      // Elsewhere this would open a window.
      detached: system.groups,
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const child = cells ? cells.startIn(mark, begin) : begin();
  const cell = cells?.path(mark);
  const ended = new Promise<Omit<ChildEnd, 'survivors'>>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, by) =>
      resolve({ code, signal: by, seconds: (performance.now() - startedAt) / 1000 }),
    );
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const { pid } = child;
  if (pid === undefined) {
    if (cell !== undefined) removeCell(cell);
    return { ...(await ended), survivors: [] };
  }
  const family: Family = { leader: pid, mark, since: system.rowOf(pid)?.started ?? 0, cell };
  let killer: NodeJS.Timeout | undefined;
  const terminate = () => {
    signalFamily(family, 'SIGTERM');
    killer ??= setTimeout(() => signalFamily(family, 'SIGKILL'), graceMs);
  };
  signal.addEventListener('abort', terminate, { once: true });
  if (signal.aborted) terminate();
  try {
    options.onSpawn(pid);
    options.stdout(child.stdout);
    options.stderr(child.stderr);
    const end = await ended;
    if (!system.groups) family.leader = null;
    return { ...end, survivors: await endFamily(family) };
  } catch (fault) {
    await endFamily(family);
    throw fault;
  } finally {
    clearTimeout(killer);
    if (cell !== undefined) removeCell(cell);
    signal.removeEventListener('abort', terminate);
    const enough = new AbortController();
    // A process that cannot be killed may hold the pipes open for ever.
    const waited = delay(options.drainMs ?? DRAIN_MS, undefined, { signal: enough.signal });
    await Promise.race([closed, waited.catch(() => {})]);
    enough.abort();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}
