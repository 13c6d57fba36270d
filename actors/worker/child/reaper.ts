import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { Cgroups } from './cgroup.ts';
import { TAG_VARIABLE } from './process-tree.ts';
import { system } from './system.ts';

const NO_CELLS =
  'this program may make no control group: a process of a task that forks twice, leaves its session and empties its environment may outlive it';
const SCRIPT = fileURLToPath(new URL('./reaper.sh', import.meta.url));

/**
 * Sees to it that tasks die with their worker program, also when that is killed: a small process of its own waits for
 * the end of a pipe that the worker holds, and then kills what is in the control groups of its tasks or carries their
 * tags. That needs nothing but a shell, works for children of every kind, and leaves the child's end to the worker; to
 * ask the kernel for a signal at the parent's death would reach the child alone, and none of its descendants.
 */
export class Reaper {
  readonly #log: Logger;
  /** Of this start of this worker: the next one on the same state directory is not the reaper's concern. */
  readonly #run = randomUUID();
  readonly #groups = new Set<number>();
  /** The control groups of the tasks; null where this program may make none. */
  readonly cgroups: Cgroups | null;
  #tags = 0;
  #process: ChildProcess | null = null;
  #stopped = false;

  constructor(log: Logger) {
    this.#log = log;
    this.cgroups = Cgroups.open(`jq-worker-${this.#run}`);
  }

  /** Its process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** What this worker cannot promise on this system, in sentences. */
  get limits(): string[] {
    if (this.cgroups) return [];
    return system.groups ? [...system.limits, NO_CELLS] : [...system.limits];
  }

  /** A tag for a task, which no other has. */
  newTag(): string {
    return `${this.#run}.${++this.#tags}`;
  }

  start(): void {
    if (this.#process || this.#stopped || !system.groups) return;
    const reaper = spawn('/bin/sh', [SCRIPT], {
      // Away from the terminal, whose Ctrl-C is for the worker, and from a folder that somebody may remove.
      detached: true,
      cwd: '/',
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#process = reaper;
    if (this.cgroups) this.cgroups.companion = reaper.pid;
    const over = (why: unknown) => {
      if (this.#process !== reaper) return;
      this.#process = null;
      if (this.cgroups) this.cgroups.companion = undefined;
      if (!this.#stopped)
        this.#log.warn({ why }, 'the reaper of the tasks has ended; the next task starts one');
    };
    reaper.once('error', over);
    reaper.once('exit', (code, signal) => over(signal ?? code));
    reaper.stdin?.on('error', () => {});
    // It never keeps the worker from ending.
    reaper.unref();
    (reaper.stdin as Socket).unref();
    this.#say('=', `${TAG_VARIABLE}=${this.#run}.`);
    if (this.cgroups) this.#say('@', this.cgroups.folder);
    for (const pid of this.#groups) this.#say('+', `${pid}`);
  }

  /** Takes a task's process group under its care. */
  watch(pid: number): void {
    this.#groups.add(pid);
    if (this.#process) this.#say('+', `${pid}`);
    else this.start();
  }

  /** The group is gone. */
  release(pid: number): void {
    if (this.#groups.delete(pid)) this.#say('-', `${pid}`);
  }

  /** Lets the reaper end; should something of the worker still run, it is killed. */
  stop(): void {
    this.#stopped = true;
    this.cgroups?.close();
    this.#process?.stdin?.end();
  }

  #say(change: '=' | '@' | '+' | '-', what: string): void {
    this.#process?.stdin?.write(`${change} ${what}\n`);
  }
}
