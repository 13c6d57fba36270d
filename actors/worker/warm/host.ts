import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Actor, createActor, type EventObject, fromCallback } from 'xstate';
import { hostMachine } from '../../../machines/host.ts';
import { removeCgroup } from '../child/cgroup.ts';
import { Lines } from '../child/lines.ts';
import { TAG_VARIABLE } from '../child/process-tree.ts';
import type { Reaper } from '../child/reaper.ts';
import type { Ended } from '../child/run-group.ts';
import { system } from '../child/system.ts';
import { childEnvironment } from '../environment.ts';
import { type Order, readSaid, type Said } from './wire.ts';

/** Attempts that one host serves: what leaks a little with each is put an end to. */
const MOST_ATTEMPTS = 1_000;
/** Milliseconds for an answer; to load a large library from a share takes its time. */
const ANSWER_MS = 120_000;
/** Milliseconds in which a host that was told to end does so. */
const END_MS = 2_000;
const LOST = 'the warm host of the analysis is gone, and the analysis with it';
/** Room for the mark of each fork, which takes the place of the host's own in the memory that the system shows. */
const MARK_LENGTH = 64;

export interface HostOptions {
  command: readonly string[];
  /** Modules to load beside those that the runner names, and packages never to load. */
  modules: readonly string[];
  without: readonly string[];
  /** A folder that tasks make when they keep something for others of this host; removed with the host. */
  keep: string;
  reaper: Reaper;
  log: Logger;
  /** It has loaded what it was asked to, or met a package after which nothing can be forked. */
  onLoaded(said: Extract<Said, { kind: 'loaded' }>): void;
}

/** An attempt that a host has forked, and that stands still until `go`. */
export interface Forked {
  pid: number;
  /** Rejects when the host dies, which alone could have told. */
  ended: Promise<Ended>;
  go(): void;
}

/** What becomes of an order: a fork, a reason to start it cold, or that another host has to be asked. */
export type Answer = { forked: Forked } | { cold: string } | 'again';

interface Pending {
  answer(answer: Answer): void;
  forked(pid: number): void;
  ended(end: Ended): void;
  lost(why: string): void;
}

/** A host under way: its process, its statechart, and what it was asked for. */
export class Host {
  readonly #options: HostOptions;
  readonly #actor: Actor<typeof hostMachine>;
  readonly #orders = new Map<string, Pending>();
  /** Resolves with the reason once its process has ended. */
  readonly gone: Promise<string>;
  #socket: Duplex | null = null;
  #pid: number | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
    const process = fromCallback<EventObject>(({ sendBack, receive }) => {
      const child = this.#start((why) => sendBack({ type: 'GONE', why }));
      receive(() => this.#socket?.end());
      return () => child.removeAllListeners();
    });
    this.#actor = createActor(hostMachine.provide({ actors: { process } }), {
      input: { most: MOST_ATTEMPTS },
    });
    this.gone = new Promise((resolve) => {
      const ended = () => resolve(this.#actor.getSnapshot().context.why ?? 'it ended');
      this.#actor.subscribe({ complete: ended, error: (fault) => resolve(String(fault)) });
    });
    this.#actor.start();
  }

  /** Whether it takes orders. */
  get takes(): boolean {
    const now = this.#actor.getSnapshot();
    return now.status === 'active' && (now.matches('loading') || now.matches('ready'));
  }

  /** Whether it has ever loaded what it was asked to. */
  get worked(): boolean {
    return this.#actor.getSnapshot().context.loaded;
  }

  /** Has it load more. */
  load(modules: readonly string[]): void {
    this.#say({ preload: modules, without: this.#options.without });
  }

  retire(why: string): void {
    this.#actor.send({ type: 'RETIRE', why });
  }

  /** Asks for an attempt. Never rejects. */
  async fork(order: Order): Promise<Answer> {
    const run = randomUUID();
    const answered = new Promise<Answer>((answer) => {
      this.#orders.set(run, {
        answer,
        ended: () => {},
        lost: (why) => answer({ cold: `its warm host is gone: ${why}` }),
        forked: (pid) => answer({ forked: this.#forked(run, pid) }),
      });
    });
    this.#actor.send({ type: 'ORDERED' });
    this.#say({ run, keep: this.#options.keep, ...order });
    const late = setTimeout(() => this.#kill('it does not answer'), ANSWER_MS);
    late.unref();
    return answered.finally(() => clearTimeout(late));
  }

  #forked(run: string, pid: number): Forked {
    const ended = new Promise<Ended>((resolve, reject) => {
      const lost = (why: string) => reject(new Error(`${LOST}: ${why}`));
      this.#orders.set(run, { answer: () => {}, forked: () => {}, ended: resolve, lost });
    });
    // Whoever waits for it gets the error.
    ended.catch(() => {});
    return { pid, ended, go: () => this.#say({ go: run }) };
  }

  /** Ends it, with whatever it has forked. */
  async close(): Promise<void> {
    this.#socket?.end();
    const enough = new AbortController();
    const patience = delay(END_MS, undefined, { signal: enough.signal }).catch(() => {});
    await Promise.race([this.gone, patience]);
    enough.abort();
    this.#kill('the worker ends');
    await this.gone;
  }

  #start(gone: (why: string) => void): ChildProcess {
    const { command, reaper, keep, log, modules } = this.#options;
    const [program = '', ...args] = command;
    const mark = reaper.newTag().padEnd(MARK_LENGTH, '_');
    const begin = () =>
      spawn(program, [...args, '--serve'], {
        cwd: '/',
        env: { ...childEnvironment(), [TAG_VARIABLE]: mark },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      });
    const child = reaper.cgroups ? reaper.cgroups.startIn(mark, begin) : begin();
    let last = '';
    const note = new Lines((line) => {
      last = line;
      log.debug({ line }, 'the warm host says');
    });
    const over = (why: string) => {
      if (this.#pid !== undefined) reaper.release(this.#pid);
      if (reaper.cgroups) removeCgroup(reaper.cgroups.path(mark));
      this.#socket?.destroy();
      removeKept(keep);
      const reason = last === '' ? why : `${why}: ${last}`;
      for (const order of [...this.#orders.keys()]) this.#lose(order, reason);
      gone(reason);
    };
    child.once('error', (fault) => over(fault.message));
    child.once('close', (code, signal) => over(`it ended with ${signal ?? `exit code ${code}`}`));
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => note.write(chunk));
    this.#pid = child.pid;
    if (child.pid !== undefined) reaper.watch(child.pid);
    this.#socket = child.stdio[3] as Duplex;
    const lines = new Lines((line) => this.#hear(line));
    this.#socket.on('data', (chunk: Buffer) => lines.write(chunk));
    this.#socket.on('error', () => {});
    this.load(modules);
    return child;
  }

  #hear(line: string): void {
    const said = readSaid(line);
    if (said === null) this.#kill('it says what is none of the protocol');
    else if (said.kind === 'loaded') {
      this.#actor.send({ type: 'LOADED' });
      this.#options.onLoaded(said);
    } else this.#answer(said);
  }

  #answer(said: Exclude<Said, { kind: 'loaded' }>): void {
    const pending = this.#orders.get(said.order);
    if ('retire' in said && said.retire !== null) this.retire(said.retire);
    if (said.kind === 'forked') {
      pending?.forked(said.pid);
      return;
    }
    this.#settle(said.order);
    if (said.kind === 'ended') pending?.ended({ code: said.code, signal: said.signal });
    else pending?.answer(said.kind === 'again' ? 'again' : { cold: said.reason });
  }

  #lose(order: string, why: string): void {
    const pending = this.#orders.get(order);
    this.#settle(order);
    pending?.lost(why);
  }

  #settle(order: string): void {
    if (this.#orders.delete(order)) this.#actor.send({ type: 'SETTLED' });
  }

  #kill(why: string): void {
    if (this.#pid === undefined || this.#actor.getSnapshot().status !== 'active') return;
    this.#options.log.debug({ why }, 'ends a warm host');
    system.signal(-this.#pid, 'SIGKILL');
  }

  #say(message: object): void {
    if (this.#socket?.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }
}

/** What a fork writes meanwhile, which dies with its host, may get in the way; the next worker program removes the rest. */
function removeKept(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {}
}
