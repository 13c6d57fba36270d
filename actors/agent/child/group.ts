import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

export interface ChildOptions {
  command: string;
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Milliseconds between SIGTERM and SIGKILL. */
  graceMs: number;
  /** Milliseconds for what is left in the pipes of a child that has ended. Default 2,000. */
  drainMs?: number;
  /** Aborted: the group is terminated. */
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
}

const DRAIN_MS = 2_000;

/**
 * Runs a program as the leader of its own process group until it ends, and leaves nothing of the group behind:
 * whatever it forked is killed when the leader is gone. Processes that hold its output pipes open do not
 * delay the answer. Rejects when the program cannot be started.
 */
export async function runGroup(options: ChildOptions): Promise<ChildEnd> {
  const { command, args, cwd, env, graceMs, signal } = options;
  signal.throwIfAborted();
  const startedAt = performance.now();
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<ChildEnd>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, by) =>
      resolve({ code, signal: by, seconds: (performance.now() - startedAt) / 1000 }),
    );
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const { pid } = child;
  if (pid === undefined) return ended;
  let killer: NodeJS.Timeout | undefined;
  const terminate = () => {
    killGroup(pid, 'SIGTERM');
    killer ??= setTimeout(() => killGroup(pid, 'SIGKILL'), graceMs);
  };
  signal.addEventListener('abort', terminate, { once: true });
  if (signal.aborted) terminate();
  try {
    options.onSpawn(pid);
    options.stdout(child.stdout);
    options.stderr(child.stderr);
    return await ended;
  } finally {
    clearTimeout(killer);
    signal.removeEventListener('abort', terminate);
    killGroup(pid, 'SIGKILL');
    const enough = new AbortController();
    // A process that left the group may hold the pipes open for ever.
    const waited = delay(options.drainMs ?? DRAIN_MS, undefined, { signal: enough.signal });
    await Promise.race([closed, waited.catch(() => {})]);
    enough.abort();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Signals a whole process group; one that has ended already is no fault. */
export function killGroup(pgid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pgid, signal);
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    // EPERM: what is left of the group belongs to somebody else by now, or is a zombie (macOS).
    if (code !== 'ESRCH' && code !== 'EPERM') throw fault;
  }
}
