import { setImmediate as tick } from 'node:timers/promises';
import { type RunningBackend, startBackend } from '../../actors/server/backend.ts';
import type { StoreHooks } from '../../actors/server/store/store.ts';
import type { Clock } from '../../actors/shared/clock.ts';
import { HearingClock } from '../../actors/shared/hearing-clock.ts';
import type { Backend, Pieces, Reads } from '../../gateway/backend.ts';
import { inTime } from '../support/in-time.ts';
import type { Seeded } from '../support/seeded.ts';
import type { StepClock } from '../support/step-clock.ts';
import { Wire, type WireAnswer, type WireCall, type WireRequest } from '../support/wire.ts';

/** What the disk does, in simulated seconds. */
export interface DiskWeather {
  /** A commit takes at most this long. */
  commit: number;
  /** Commits fail. */
  full: boolean;
}

export interface ServerCounts {
  commits: number;
  failedCommits: number;
  crashes: number;
  restarts: number;
  /** Processes that heard that another one had taken the store. */
  superseded: number;
}

/** Seconds, unlike any other time that the server waits, so that it is known which timer tries the store. */
export const PROBE_INTERVAL = 1.0001;
/** Seconds after which what could not be written, or was not looked at, has been: a probe, another try, and a bit. */
const CAUGHT_UP = 2 * PROBE_INTERVAL + 0.1;
/** Rounds of the event loop in which a peer deals with what reached it: it waits for nothing that is not played. */
export const A_MOMENT = 2;

/** One process of the server, from its start to its end. */
export class Life {
  readonly faults: StoreHooks;
  /** The simulated clock; it notes when the store is about to be tried. */
  readonly clock: Clock;
  readonly #calls = new Set<WireCall>();
  readonly #clock: StepClock;
  readonly #disk: () => DiskWeather;
  readonly #counts: ServerCounts;
  #cluster: RunningBackend | null = null;
  #wire: Wire | null = null;
  /** What goes on in real time. */
  readonly #work = new Set<Promise<unknown>>();
  #isFrozen = false;
  /** When it last was behind: it came out of a standstill, or its store could not commit. */
  #behindAt = Number.NEGATIVE_INFINITY;
  /** What came due or arrived while it was frozen. */
  #atThaw: (() => void)[] = [];
  /** Whether anything has come to the server since it was at rest. */
  #touched = true;
  #ending: 'crash' | 'calmly' | null = null;
  #isSuperseded = false;
  /** Tells that the commit under way is durable. */
  #written: () => void = () => {};
  /** Tells that a commit waits for simulated time: until then, nothing else is handled. */
  #waits: () => void = () => {};
  /** Commits that wait for simulated time. */
  readonly #held = new Set<() => void>();

  constructor(clock: StepClock, chance: Seeded, disk: () => DiskWeather, counts: ServerCounts) {
    this.#clock = clock;
    this.#disk = disk;
    this.#counts = counts;
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      timer: (seconds, callback) => this.#timer(seconds, callback, true),
    };
    const fail = () => {
      const fails = this.#ending === 'crash' || (this.#disk().full && this.#ending === null);
      this.#counts[fails ? 'failedCommits' : 'commits']++;
      if (fails) throw Object.assign(new Error('SQLITE_FULL: disk full'), { code: 'SQLITE_FULL' });
    };
    this.faults = {
      // Nothing else is handled meanwhile, so that waiting for simulated time would only hold up the simulation.
      beforeProbe: async () => fail(),
      beforeCommit: async () => {
        await this.#hold(chance.between(0, this.#disk().commit));
        fail();
        // Nothing is written any more, and so nothing waited for.
        if (this.#isSuperseded) return;
        this.#goesOn(
          new Promise<void>((resolve) => {
            this.#written = resolve;
          }),
        );
      },
      afterCommit: () => {
        this.#written();
        return this.#hold(chance.between(0, this.#disk().commit / 2));
      },
    };
  }

  /** The program's own clock of the time in which it could hear; its looks at the time are nothing that happens. */
  hearing(tick: number): HearingClock {
    const looking = { ...this.clock, timer: (s: number, look: () => void) => this.#timer(s, look, false) };
    return new HearingClock(looking, {
      tick,
      // What arrived meanwhile is handed over when the server thaws, a moment before it has been read.
      afterRounds: (rounds, callback) => (rounds === 1 ? callback() : this.clock.timer(0.001, callback)),
    });
  }

  /** Another process has the store, which refuses whatever this one still has under way. */
  set isSuperseded(isSuperseded: true) {
    this.#isSuperseded = isSuperseded;
    this.#written();
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    this.#behindAt = this.#clock.monotonic();
    for (const enter of this.#atThaw.splice(0)) enter();
  }

  /** What comes due in the process, or reaches it (else it waits in the socket), when it is not frozen. */
  #enter(callback: () => void): void {
    if (this.#isFrozen) this.#atThaw.push(() => this.#enter(callback));
    else callback();
  }

  #timer(seconds: number, callback: () => void, touches: boolean): () => void {
    let isSet = true;
    const due = () => {
      if (!isSet) return;
      isSet = false;
      this.#touched ||= touches;
      callback();
    };
    const cancel = this.#clock.timer(seconds, () => this.#enter(due));
    return () => {
      isSet = false;
      cancel();
    };
  }

  async start(options: Parameters<typeof startBackend>[0]): Promise<void> {
    this.#cluster = await startBackend(options);
    this.#watchReads(this.port.reads);
    this.#wire = new Wire(this.port);
  }

  get port(): Backend {
    return (this.#cluster as RunningBackend).backend;
  }

  get isIdle(): boolean {
    return this.#held.size === 0;
  }

  get isPunctual(): boolean {
    if (this.#isFrozen || this.#cluster?.state !== 'serving') return false;
    return this.#clock.monotonic() - this.#behindAt > CAUGHT_UP;
  }

  request(request: WireRequest): WireCall {
    if (!this.#isFrozen) return this.#serve(request);
    let call: WireCall | null = null;
    const answer = new Promise<WireAnswer>((resolve, reject) => {
      this.#enter(() => {
        call = this.#serve(request);
        call.answer.then(resolve, reject);
      });
    });
    answer.catch(() => {});
    return { answer, hangUp: () => this.#enter(() => call?.hangUp()) };
  }

  #serve(request: WireRequest): WireCall {
    this.#touched = true;
    const call = (this.#wire as Wire).request(request);
    this.#calls.add(call);
    const over = () => this.#calls.delete(call);
    call.answer.then(over, over);
    const hangUp = () => {
      this.#touched = true;
      call.hangUp();
    };
    return { answer: call.answer, hangUp: () => this.#enter(hangUp) };
  }

  async end(how: 'crash' | 'calmly'): Promise<void> {
    this.#ending = how;
    if (how === 'crash') this.#atThaw = [];
    this.thaw();
    if (how === 'crash') for (const call of this.#calls) call.hangUp();
    for (const release of [...this.#held]) release();
    await this.#cluster?.stop();
    for (const call of this.#calls) call.hangUp();
  }

  /** What goes on may lead to more: it is over when for a moment there is nothing. @returns whether there was any */
  async rest(): Promise<boolean> {
    if (!this.#touched) return false;
    this.#touched = false;
    for (;;) {
      const waits = new Promise<void>((resolve) => {
        this.#waits = resolve;
      });
      const resting = this.isIdle ? this.#cluster?.idle && Promise.race([this.#cluster.idle, waits]) : null;
      if (this.#cluster?.state === 'degraded') this.#behindAt = this.#clock.monotonic();
      if (!resting && this.#work.size === 0) return true;
      await inTime('the server to come to rest', Promise.all([resting, ...this.#work]));
      for (let i = 0; i < A_MOMENT; i++) await tick();
    }
  }

  #hold(seconds: number): Promise<void> {
    if (this.#ending) return Promise.resolve();
    return new Promise((resolve) => {
      const release = () => {
        this.#touched = true;
        cancel();
        this.#held.delete(release);
        resolve();
      };
      const cancel = this.#timer(seconds, release, true);
      this.#held.add(release);
      this.#waits();
    });
  }

  /** Reads go on beside turns, those of the supervisor's own answers too; a rest has to wait for them. */
  #watchReads(reads: Reads): void {
    const all = reads as unknown as Record<string, (...args: unknown[]) => unknown>;
    for (const [name, read] of Object.entries(all)) {
      all[name] = (...args) => {
        const result = read.apply(reads, args);
        if (result instanceof Promise) this.#goesOn(result);
        return isPieces(result) ? this.#watched(result) : result;
      };
    }
  }

  #watched(pieces: Pieces): Pieces {
    const read = () => {
      const reader = pieces[Symbol.asyncIterator]();
      const next = () => {
        const piece = reader.next();
        this.#goesOn(piece);
        return piece;
      };
      return {
        next,
        return: async () => (await reader.return?.()) ?? { done: true as const, value: undefined },
      };
    };
    return { [Symbol.asyncIterator]: read };
  }

  #goesOn(work: Promise<unknown>): void {
    const over: Promise<boolean> = work.then(
      () => this.#work.delete(over),
      () => this.#work.delete(over),
    );
    this.#work.add(over);
  }
}

const isPieces = (result: unknown): result is Pieces =>
  typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
