import { mkdirSync, rmSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AttemptRef } from '../../../machines/attempt/attempt.ts';
import type { ReportedEvent } from '../../../machines/schema/report.ts';
import type { Cgroups } from '../child/cgroup.ts';
import { TaskEvents } from '../child/events.ts';
import { AttemptNote } from '../child/leftovers.ts';
import { LogFile } from '../child/log-file.ts';
import type { OutboxEntry } from '../delivery/outbox.ts';
import { removeFew } from '../files.ts';
import type { Held } from '../inputs/cache/cache.ts';
import type { Fingerprints } from '../inputs/pipeline.ts';
import { removeTree } from '../remove-tree.ts';
import { type AttemptPaths, attemptPaths } from './paths.ts';

interface AttemptDirectoryOptions {
  state: string;
  ref: AttemptRef;
  /** Tags its processes; see `TAG_VARIABLE`. */
  tag: string;
  cgroups: Cgroups | null;
  maxLogBytes: number;
  sendEvents(events: ReportedEvent[]): Promise<unknown>;
}

/** What one attempt holds on this machine while it goes on: its directory, its log, its events. */
export class AttemptDirectory {
  readonly ref: AttemptRef;
  readonly paths: AttemptPaths;
  readonly events: TaskEvents;
  readonly tag: string;
  /** Of the pipeline that was materialised. */
  fingerprints: Fingerprints = {};
  /** The outcome with its files, once there is one. */
  entry: OutboxEntry | null = null;
  /** Whether the attempt was stopped before its own end. */
  stopped = false;
  #log: LogFile | null = null;
  #note: AttemptNote | null = null;
  readonly #cgroups: Cgroups | null;
  readonly #maxLogBytes: number;
  #work: Promise<unknown> = Promise.resolve();
  #held: { what: string; held: Held }[] = [];

  constructor({ state, ref, tag, cgroups, maxLogBytes, sendEvents }: AttemptDirectoryOptions) {
    this.ref = ref;
    this.tag = tag;
    this.#cgroups = cgroups;
    this.paths = attemptPaths(state, ref);
    this.events = new TaskEvents(sendEvents);
    this.#maxLogBytes = maxLogBytes;
  }

  /** Makes the directory, with nothing but a note of whose it is, and opens the log. */
  async open(): Promise<void> {
    const { root, attempt } = this.paths;
    mkdirSync(dirname(root), { recursive: true });
    try {
      mkdirSync(root);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      await removeTree(root);
      mkdirSync(root);
    }
    this.#note = new AttemptNote(attempt, this.ref, this.tag, this.#cgroups);
    this.#log = new LogFile(this.paths.log, this.#maxLogBytes);
  }

  get log(): LogFile {
    if (!this.#log) throw new Error('the directory of the attempt is not open');
    return this.#log;
  }

  /** Its child has come to life. */
  leads(pid: number): void {
    this.#note?.leader(pid);
  }

  /** A line of the worker's own in the log, where there is one. */
  note(line: string): void {
    this.#log?.note(line);
  }

  /** Runs a step and remembers it, so that `settled` can wait for the end of one that was given up. */
  work<T>(step: Promise<T>): Promise<T> {
    this.#work = step.catch(() => {});
    return step;
  }

  /** Resolves once the last step has ended, however it ended. */
  async settled(): Promise<void> {
    await this.#work;
  }

  /** Keeps an input that the child needs in place, until `release`. `what`: how messages call it. */
  hold(what: string, held: Held): void {
    this.#held.push({ what, held });
  }

  /** What of the inputs that it holds is not what it was; null where all is. */
  async changedInput(): Promise<string | null> {
    for (const { what, held } of this.#held) if (!(await held.intact())) return what;
    return null;
  }

  /** The child has ended: releases what it needed. */
  async release(): Promise<void> {
    for (const { held } of this.#held.splice(0)) await held.release();
  }

  async closeLog(): Promise<void> {
    await this.#log?.close();
  }

  /** Lets go of what would keep the process alive; the directory stays. */
  async leave(): Promise<void> {
    this.events.drop();
    this.#note?.close();
    await this.release();
    await this.closeLog();
  }

  /** The end is known to the server: no later worker program may report another one. */
  settle(): void {
    rmSync(this.paths.attempt, { force: true });
  }

  /** Removes the directory. */
  async clear(): Promise<void> {
    await this.leave();
    const { root } = this.paths;
    // What was small enough to travel with the report is removed at once, which is far quicker.
    const isSmall = this.entry?.files.every(({ content }) => content !== undefined) ?? false;
    if (!isSmall || !removeFew(root)) await removeTree(root);
    // The folder of the task itself, unless another attempt is in it.
    await rmdir(dirname(root)).catch(() => {});
  }
}
