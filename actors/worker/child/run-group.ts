import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { type Cgroups, removeCgroup } from './cgroup.ts';
import { killTree, type ProcessTree, signalTree, TAG_VARIABLE } from './process-tree.ts';
import { removeShared } from './shared-memory.ts';
import { system } from './system.ts';

/** How the leader ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A leader that has come to life, in a session of its own. */
export interface Leader {
  pid: number;
  stdout: Readable;
  stderr: Readable;
  /** Rejects where nobody can tell. */
  ended: Promise<Ended>;
  /** Resolves once both of its pipes are closed. */
  closed: Promise<unknown>;
  /** Lets it begin, where it stands still until then. */
  go?(): void;
}

export interface ChildOptions {
  command: string;
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** What the environment of each of its processes says; see `TAG_VARIABLE`. */
  tag: string;
  /** Where control groups may be made: it gets one of its own. */
  cgroups?: Cgroups | null;
  /** Another way to bring the leader to life; null where it has to be started after all. */
  fork?: (() => Promise<Leader | null>) | undefined;
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

export interface ChildEnd extends Ended {
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
  const { tag, cgroups, graceMs, signal } = options;
  signal.throwIfAborted();
  const since = Date.now();
  const forked = (await options.fork?.()) ?? null;
  const startedAt = performance.now();
  const leader = forked ?? (await start(options));
  const { pid } = leader;
  const cell = cgroups?.path(tag);
  const tree: ProcessTree = { leader: pid, tag, since: system.rowOf(pid)?.started ?? 0, cell };
  let killer: NodeJS.Timeout | undefined;
  const terminate = () => {
    signalTree(tree, 'SIGTERM');
    killer ??= setTimeout(() => signalTree(tree, 'SIGKILL'), graceMs);
  };
  signal.addEventListener('abort', terminate, { once: true });
  if (signal.aborted) terminate();
  try {
    options.onSpawn(pid);
    options.stdout(leader.stdout);
    options.stderr(leader.stderr);
    leader.go?.();
    const ended = await leader.ended;
    const seconds = (performance.now() - startedAt) / 1000;
    if (!system.groups) tree.leader = null;
    const survivors = await killTree(tree);
    // Who ends well takes away itself what it shared.
    if (ended.code !== 0 && survivors.length === 0)
      await removeShared(new Set([pid, ...(tree.seen?.keys() ?? [])]), since);
    return { ...ended, seconds, survivors };
  } catch (error) {
    await killTree(tree);
    throw error;
  } finally {
    clearTimeout(killer);
    if (cell !== undefined) removeCgroup(cell);
    signal.removeEventListener('abort', terminate);
    let waiting: NodeJS.Timeout | undefined;
    // A process that cannot be killed may hold the pipes open for ever.
    const waited = new Promise<void>((resolve) => {
      waiting = setTimeout(resolve, options.drainMs ?? DRAIN_MS);
    });
    await Promise.race([leader.closed, waited]);
    clearTimeout(waiting);
    leader.stdout.destroy();
    leader.stderr.destroy();
  }
}

/** Starts the program. Rejects when that cannot be. */
async function start({ command, args, cwd, env, tag, cgroups, signal }: ChildOptions): Promise<Leader> {
  await cgroups?.ready();
  signal.throwIfAborted();
  const begin = () =>
    spawn(command, args, {
      cwd,
      env: { ...env, [TAG_VARIABLE]: tag },
      // Elsewhere this would open a window.
      detached: system.groups,
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const child = cgroups ? cgroups.startIn(tag, begin) : begin();
  const { pid, stdout, stderr } = child;
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, by) => resolve({ code, signal: by }));
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  if (pid !== undefined) return { pid, stdout, stderr, ended, closed };
  if (cgroups) removeCgroup(cgroups.path(tag));
  await ended;
  throw new Error(`${command} has no process`);
}
