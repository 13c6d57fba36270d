import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as tick } from 'node:timers/promises';
import { pino } from 'pino';
import { type Cluster, startCluster } from '../../actors/cluster.ts';
import type { StoreFaults } from '../../actors/store/store.ts';
import type { Message } from '../../gateway/messages.ts';
import type { ClusterPort } from '../../gateway/ports.ts';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import type { EventView } from '../../machines/schema/views.ts';
import { StepClock } from '../support/step-clock.ts';
import { until } from '../support/until.ts';
import type { WireAnswer, WireCall } from '../support/wire.ts';
import { type Line, type LineKind, openLine } from './line.ts';
import { TIMES } from './operations.ts';

/** Stands in for a fault of the program: what the supervisor gets is not what was sent. */
export type Tamper = (message: Message) => Message;

interface Outstanding {
  call: WireCall;
  answer: WireAnswer | null;
  mayWait: boolean;
}

export const storeFault = (code: string) =>
  Object.assign(new Error(`${code}: as the test wants it`), { code });

/** The real thing: gateway, supervisor and SQLite file on simulated time. */
export class System {
  readonly clock = new StepClock();
  readonly faults: StoreFaults = {};
  readonly outstanding = new Map<number, Outstanding>();
  readonly kind: LineKind;
  readonly #folder: string;
  #cluster: Cluster | null = null;
  #line: Line | null = null;
  #received = 0;
  #lastEvent = 0;

  readonly #tamper: Tamper;

  private constructor(folder: string, kind: LineKind, tamper: Tamper) {
    this.#folder = folder;
    this.kind = kind;
    this.#tamper = tamper;
  }

  /** @param base where the state directories are made; in memory, an fsync costs nothing */
  static async start(base: string, kind: LineKind, tamper: Tamper = (message) => message): Promise<System> {
    const system = new System(await mkdtemp(join(base, 'jq-model-')), kind, tamper);
    await system.open();
    return system;
  }

  async open(): Promise<void> {
    this.#cluster = await startCluster({
      stateDir: this.#folder,
      log: pino({ level: 'silent' }),
      maxArtifactBytes: 1024 * 1024,
      settings: {
        leaseTtl: TIMES.leaseTtl,
        workerDeadAfter: TIMES.deadAfter,
        heartbeatInterval: TIMES.heartbeatInterval,
        timeoutGrace: TIMES.timeoutGrace,
      },
      clock: this.clock,
      faults: this.faults,
    });
    const { port } = this.#cluster;
    const counting: ClusterPort = {
      ...port,
      send: (message) => {
        this.#received++;
        return port.send(this.#tamper(message as unknown as Message) as never);
      },
    };
    this.#line = await openLine(this.kind, counting);
  }

  get port(): ClusterPort {
    return (this.#cluster as Cluster).port;
  }

  async close(): Promise<void> {
    for (const { call } of this.outstanding.values()) call.hangUp();
    await this.#cluster?.stop();
    await this.#line?.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Sends a request; resolves when the supervisor has it, or the gateway has refused it. */
  async send(
    ticket: number,
    method: string,
    path: string,
    body: object | undefined,
    mayWait: boolean,
  ): Promise<void> {
    const before = this.#received;
    const call = (this.#line as Line).request(method, path, body);
    const entry: Outstanding = { call, answer: null, mayWait };
    this.outstanding.set(ticket, entry);
    call.answer.then(
      (answer) => {
        entry.answer = answer;
      },
      () => {},
    );
    if (this.kind === 'wire') return;
    await until('the request reaches the server', () => this.#received > before || entry.answer);
  }

  /** Everything that was sent has been dealt with, and whoever does not wait has been answered. */
  async settle(): Promise<void> {
    await tick();
    await this.#barrier();
    await this.#barrier();
    await Promise.all(
      [...this.outstanding.values()].flatMap(({ call, mayWait }) => (mayWait ? [] : [call.answer])),
    );
    await tick();
  }

  /** A message that changes nothing goes through the mailbox behind all others. */
  async #barrier(): Promise<void> {
    const nothing = { type: 'note_peer', role: 'client', version: PACKAGE_VERSION } as const;
    await this.port.send(nothing).catch(() => {});
  }

  /** The answer of a request that must have been answered by now. */
  async answered(ticket: number): Promise<WireAnswer> {
    const entry = this.outstanding.get(ticket);
    if (!entry) throw new Error(`nothing was asked under ticket ${ticket}`);
    if (this.kind === 'wire' && !entry.answer) throw new Error(`request ${ticket} is not answered`);
    return until(`the answer to request ${ticket}`, () => entry.answer, 10);
  }

  async pass(seconds: number): Promise<void> {
    const end = this.clock.monotonic() + seconds;
    do {
      this.clock.moveTo(Math.min(this.clock.nextAt, end));
      await this.settle();
    } while (this.clock.monotonic() < end || this.clock.nextAt <= end);
  }

  /** Events that were committed since the last call. */
  async newEvents(): Promise<EventView[]> {
    const events = await this.port.reads.events({ after_id: this.#lastEvent, limit: 5000 });
    const gap = events.findIndex((event, i) => event.id !== this.#lastEvent + 1 + i);
    if (gap >= 0) throw new Error(`event ${this.#lastEvent + 1 + gap} is missing`);
    this.#lastEvent += events.length;
    return events;
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
    const waiting = [...this.outstanding.values()];
    await until('everybody who waits is answered', () => waiting.every((entry) => entry.answer), 5);
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
