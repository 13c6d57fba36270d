import { randomUUID } from 'node:crypto';
import { constants, openSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { TAG_VARIABLE } from '../child/process-tree.ts';
import type { Reaper } from '../child/reaper.ts';
import type { Leader } from '../child/run-group.ts';
import { system } from '../child/system.ts';
import type { Runner } from '../config.ts';
import { readPlain } from '../files.ts';
import { type Answer, type Forked, Host } from './host.ts';
import { Learned } from './learned.ts';
import type { Order } from './wire.ts';

/** Hosts in a row that ended before they had loaded anything, after which no other one is tried. */
const MOST_FAILURES = 3;
/** Hosts that are asked for one attempt: while packages are installed, each is out of date in turn. */
const MOST_HOSTS = 3;
/** Milliseconds after which an attempt starts cold rather than wait for a host that hangs in an import. */
const PATIENCE_MS = 60_000;
const MAX_LEARNED_BYTES = 4 * 1024 * 1024;

export interface WarmRunnerOptions {
  runner: Runner;
  /** State directory of the worker. */
  state: string;
  reaper: Reaper;
  log: Logger;
  /** Milliseconds for the answer to an order. Default 60,000. */
  patienceMs?: number;
}

/** An attempt in a fork, or why it has to start cold. */
export type Warm = { leader: Leader } | { cold: string };

/** A runner that is kept warm: the host that takes orders, and those that only see their last attempts to an end. */
export class WarmRunner {
  readonly #options: WarmRunnerOptions;
  readonly #learned: Learned;
  readonly #hosts = new Set<Host>();
  #current: Host | null = null;
  #loaded: Promise<void> | null = null;
  /** Hosts in a row that came to nothing, and why the last one did. */
  #failures = 0;
  #why = '';
  #closed = false;

  constructor(options: WarmRunnerOptions) {
    this.#options = options;
    this.#learned = new Learned(options.state, options.runner);
  }

  /** How many there are. */
  get hosts(): number {
    return this.#hosts.size;
  }

  /** Rejects only when the attempt is given up meanwhile. */
  async fork(order: Order, signal: AbortSignal): Promise<Warm> {
    // Once, and with the first order: a library that nobody asks for is not loaded.
    this.#loaded ??= this.#load();
    await this.#loaded;
    for (let round = 0; round < MOST_HOSTS && !this.#closed; round++) {
      const host = this.#host();
      if (host === null) return { cold: `its warm host does not work: ${this.#why}` };
      const answer = await inTime(host.fork(order), signal, this.#options.patienceMs ?? PATIENCE_MS);
      if (answer === 'again') continue;
      return 'cold' in answer ? answer : await this.#lead(answer.forked, order);
    }
    return { cold: 'its packages are changing' };
  }

  /** Takes note of what an attempt had to import itself, so that the next need not. */
  async learn(base: string, file: string): Promise<void> {
    try {
      const fresh = await this.#learned.add(JSON.parse(await readPlain(base, file, MAX_LEARNED_BYTES)));
      if (fresh.length > 0) this.#current?.load(fresh);
    } catch {
      // As a rule it has learned nothing new. What a task wrote there, or a full disk, costs no more than time.
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#hosts].map((host) => host.close()));
  }

  async #load(): Promise<void> {
    // A worker that was killed has left it.
    await rm(this.#learned.kept, { recursive: true, force: true });
    await this.#learned.load();
  }

  #host(): Host | null {
    if (this.#current?.takes) return this.#current;
    this.#current = null;
    if (this.#failures >= MOST_FAILURES) return null;
    const { runner, reaper, log } = this.#options;
    const host: Host = new Host({
      command: runner.command,
      modules: this.#learned.modules,
      without: this.#learned.without,
      keep: join(this.#learned.kept, randomUUID()),
      reaper,
      log: log.child({ library: runner.library }),
      onLoaded: ({ modules, spoiled }) => {
        log.info({ library: runner.library, modules }, 'a warm host is ready');
        if (spoiled === null) return;
        host.retire(`${spoiled.package} cannot be kept: ${spoiled.reason}`);
        log.info({ library: runner.library, ...spoiled }, 'a package that no warm host may load');
        this.#learned.leaveOut(spoiled.package).catch(() => {});
      },
    });
    this.#hosts.add(host);
    void host.gone.then((why) => this.#forget(host, why));
    this.#current = host;
    return host;
  }

  #forget(host: Host, why: string): void {
    this.#hosts.delete(host);
    const { runner, log } = this.#options;
    log.info({ library: runner.library, why }, 'a warm host has ended');
    this.#failures = host.worked ? 0 : this.#failures + 1;
    this.#why = why;
    if (this.#failures === MOST_FAILURES) log.warn({ library: runner.library, why }, 'tasks start cold');
  }

  /** Opens the pipes of a fork that waits for that. */
  async #lead({ pid, ended, go }: Forked, order: Order): Promise<Warm> {
    try {
      const mark = order.env[TAG_VARIABLE] ?? '';
      if (!system.carries(pid, TAG_VARIABLE, mark)) throw new Error('its process cannot be marked');
      const [stdout, stderr] = [openPipe(order.stdout), openPipe(order.stderr)];
      const closed = Promise.all([stdout, stderr].map(closing));
      return { leader: { pid, stdout, stderr, ended, closed, go } };
    } catch (error) {
      system.signal(-pid, 'SIGKILL');
      await ended.catch(() => {});
      return { cold: (error as Error).message };
    }
  }
}

/** A pipe that has a name only until both ends are open. */
function openPipe(path: string): Socket {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  rmSync(path);
  return new Socket({ fd, readable: true, writable: false });
}

const closing = (stream: Socket) => new Promise<void>((resolve) => stream.once('close', () => resolve()));

/** What a host answers, or `cold` where it takes too long. */
async function inTime(answer: Promise<Answer>, signal: AbortSignal, ms: number): Promise<Answer> {
  const late = new AbortController();
  const clock = setTimeout(() => late.abort(), ms);
  try {
    return await unlessAborted(answer, AbortSignal.any([signal, late.signal]));
  } catch (error) {
    if (signal.aborted) throw error;
    return { cold: `its warm host has not answered in ${ms / 1000} s` };
  } finally {
    clearTimeout(clock);
  }
}

/** Whoever gives up does not wait for a host that is busy; the fork that comes late is killed before it begins. */
function unlessAborted(answer: Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      reject(signal.reason);
      void answer.then((late) => {
        if (typeof late === 'object' && 'forked' in late) system.signal(-late.forked.pid, 'SIGKILL');
      });
    };
    if (signal.aborted) return giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    void answer.then((given) => {
      signal.removeEventListener('abort', giveUp);
      if (!signal.aborted) resolve(given);
    });
  });
}
