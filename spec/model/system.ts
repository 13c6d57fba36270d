import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as tick } from 'node:timers/promises';
import { type RunningBackend, startBackend } from '../../actors/server/backend.ts';
import type { StoreHooks } from '../../actors/server/store/store.ts';
import type { Backend } from '../../gateway/backend.ts';
import type { Message } from '../../gateway/messages.ts';
import type { EventView } from '../../machines/schema/views.ts';
import { copyOfEmptyState } from '../support/empty-state.ts';
import { inTime } from '../support/in-time.ts';
import { SILENT } from '../support/silent.ts';
import { type SpareStore, spareStore } from '../support/spare-stores.ts';
import { StepClock } from '../support/step-clock.ts';
import type { WireAnswer, WireCall } from '../support/wire.ts';
import { type Line, type LineKind, openLine } from './line.ts';
import { TIMES } from './operations.ts';
import { Tape } from './tape.ts';

/** Simulates a fault of the program: the supervisor gets another message than was sent. */
export type Tamper = (message: Message) => Message;

interface Outstanding {
  call: WireCall;
  answer: WireAnswer | null;
  mayWait: boolean;
}

export const storeFault = (code: string) =>
  Object.assign(new Error(`${code}: as the test wants it`), { code });

/** The real thing: gateway, supervisor and store on simulated time. */
export class System {
  readonly clock = new StepClock();
  readonly faults: StoreHooks = {};
  readonly outstanding = new Map<number, Outstanding>();
  readonly kind: LineKind;
  readonly #folder: string;
  readonly #store: SpareStore;
  #cluster: RunningBackend | null = null;
  #line: Line | null = null;
  readonly #tape = new Tape();
  /** Those who wait for requests to reach the supervisor, each for one. */
  readonly #arrivals = new Set<() => void>();

  readonly #tamper: Tamper;

  private constructor(folder: string, store: SpareStore, kind: LineKind, tamper: Tamper) {
    this.#folder = folder;
    this.#store = store;
    this.kind = kind;
    this.#tamper = tamper;
  }

  /** @param base where the state directories are made; in memory, an fsync costs nothing */
  static async start(base: string, kind: LineKind, tamper: Tamper = (message) => message): Promise<System> {
    const folder = mkdtempSync(join(base, 'jq-model-'));
    const store = await spareStore();
    if (store.address === undefined) await copyOfEmptyState(base, folder);
    const system = new System(folder, store, kind, tamper);
    await system.open();
    return system;
  }

  async open(): Promise<void> {
    this.#cluster = await startBackend({
      stateDir: this.#folder,
      store: this.#store.address,
      log: SILENT,
      maxArtifactBytes: 1024 * 1024,
      settings: {
        leaseTtl: TIMES.leaseTtl,
        workerDeadAfter: TIMES.deadAfter,
        heartbeatInterval: TIMES.heartbeatInterval,
        timeoutGrace: TIMES.timeoutGrace,
        // To cancel or to retry a job of several tasks takes as many turns.
        sliceSize: 1,
      },
      clock: this.clock,
      hearing: this.clock.hearing,
      hooks: this.faults,
    });
    const { backend } = this.#cluster;
    await this.#tape.follow(backend);
    const watched: Backend = {
      ...backend,
      send: (message) => {
        if (message.type !== 'lease_undelivered') this.#noteArrival();
        return backend.send(this.#tamper(message as unknown as Message) as never);
      },
    };
    this.#line = await openLine(this.kind, watched);
  }

  get port(): Backend {
    return (this.#cluster as RunningBackend).backend;
  }

  async close(): Promise<void> {
    for (const { call } of this.outstanding.values()) call.hangUp();
    await this.#cluster?.stop();
    await this.#line?.close();
    this.#store.giveBack();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Sends a request; resolves when the supervisor has it, or the gateway has refused it. */
  async send(
    ticket: number,
    method: string,
    path: string,
    body: object | undefined,
    mayWait: boolean,
  ): Promise<void> {
    const call = (this.#line as Line).request(method, path, body);
    const entry: Outstanding = { call, answer: null, mayWait };
    this.outstanding.set(ticket, entry);
    call.answer.then(
      (answer) => {
        entry.answer = answer;
      },
      () => {},
    );
    if (this.kind === 'http') await this.#arrival(ticket, call);
  }

  async #arrival(ticket: number, { answer }: WireCall): Promise<void> {
    let tell: () => void = () => {};
    const arrived = new Promise<void>((resolve) => {
      tell = resolve;
    });
    this.#arrivals.add(tell);
    await inTime(`request ${ticket} to reach the server`, Promise.race([arrived, answer]));
    this.#arrivals.delete(tell);
  }

  #noteArrival(): void {
    const [first] = this.#arrivals;
    if (!first) return;
    this.#arrivals.delete(first);
    first();
  }

  /** Everything that was sent has been dealt with, and whoever does not wait has been answered. */
  async settle(): Promise<void> {
    // A body reaches the gateway within a round of the event loop, and so does what an answer that finds nobody does.
    await tick();
    await this.#idle();
    await Promise.all(
      [...this.outstanding.values()].flatMap(({ call, mayWait }) => (mayWait ? [] : [call.answer])),
    );
    await tick();
    await this.#idle();
  }

  async #idle(): Promise<void> {
    while (this.#cluster?.idle) await this.#cluster.idle;
  }

  /** The answer of a request that must have been answered by now. */
  async answered(ticket: number): Promise<WireAnswer> {
    const entry = this.outstanding.get(ticket);
    if (!entry) throw new Error(`nothing was asked under ticket ${ticket}`);
    if (this.kind === 'wire' && !entry.answer) throw new Error(`request ${ticket} is not answered`);
    return inTime(`the answer to request ${ticket}`, entry.call.answer);
  }

  async pass(seconds: number): Promise<void> {
    const end = this.clock.monotonic() + seconds;
    do {
      // Where nothing comes due, nothing happens.
      if (this.clock.moveTo(Math.min(this.clock.nextAt, end))) await this.settle();
    } while (this.clock.monotonic() < end || this.clock.nextAt <= end);
  }

  /** Events that were published since the last call. */
  newEvents(): EventView[] {
    return this.#tape.take();
  }

  /** @returns how the events in the store differ from those that were published, or null */
  eventMismatch(): Promise<string | null> {
    return this.#tape.mismatch(this.port);
  }

  async hangUp(ticket: number): Promise<void> {
    this.outstanding.get(ticket)?.call.hangUp();
    this.outstanding.delete(ticket);
    if (this.kind === 'http') await this.#gone();
    await this.settle();
  }

  /** A request on a line of its own comes through after the server has seen the other one break. */
  async #gone(): Promise<void> {
    for (let i = 0; i < 3; i++) await (this.#line as Line).request('GET', '/healthz').answer;
  }

  async restart(): Promise<void> {
    await this.#cluster?.stop();
    const answers = [...this.outstanding.values()].map(({ call }) => call.answer);
    await inTime('the answers of all who wait', Promise.all(answers));
    await this.#line?.close();
    await this.open();
  }

  /** All memory is dropped; what was not durable never is. */
  async crash(): Promise<void> {
    this.faults.beforeCommit = () => Promise.reject(storeFault('SQLITE_IOERR'));
    for (const { call } of this.outstanding.values()) call.hangUp();
    this.outstanding.clear();
    delete this.faults.afterCommit;
    await this.#cluster?.stop();
    await this.#line?.close();
    delete this.faults.beforeCommit;
    await this.open();
  }
}
