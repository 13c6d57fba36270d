import { setTimeout as pause } from 'node:timers/promises';
import type { Backend } from '../../gateway/backend.ts';
import type { Leadership } from '../../gateway/leadership.ts';
import type { Configuration } from '../../machines/configuration.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { SupersededError } from '../../machines/protocol/superseded-error.ts';
import { type BackendOptions, type RunningBackend, startBackend } from './backend.ts';
import { Reign, whoLeads } from './reign.ts';
import { BackendRelay } from './relay.ts';
import { StandbyBackend } from './standby/standby-backend.ts';
import type { ReadSessions } from './store/postgres/read-sessions.ts';

/** Milliseconds between two tries to read a database that is away. */
const AGAIN_MS = 1_000;

interface Options extends Omit<BackendOptions, 'candidate' | 'metrics'> {
  /** What the servers on one store have to be told alike; nothing where it is left out. */
  configuration?: () => Configuration;
}

/** A backend that stands by until the store is its own. */
export class FailoverBackend implements Omit<RunningBackend, 'backend'> {
  readonly #reign: Reign;
  readonly #relay: BackendRelay;
  /** Resolves when it stands by, if it has to. */
  readonly #standsBy: Promise<StandbyBackend>;
  readonly #starting: Promise<RunningBackend>;
  /** Resolves once it leads. */
  readonly leads: Promise<void>;
  /** Rejects should it end by itself: with `SupersededError`, or `StartError` when it cannot take over. */
  readonly ended: Promise<never>;
  #running: RunningBackend | null = null;
  #standby: StandbyBackend | null = null;

  private constructor(options: Options) {
    this.#reign = new Reign(options.log, options.configuration ?? (() => ({})));
    this.#relay = new BackendRelay(this.#reign);
    this.#standsBy = this.#reign.stoodBy.then(() => this.#standBy(options));
    this.#starting = this.#start(options);
    this.leads = this.#starting.then(() => {});
    this.ended = Promise.race([this.#superseded(), this.#failed()]);
    // Not everybody asks.
    for (const promise of [this.leads, this.ended, this.#standsBy]) promise.catch(() => {});
  }

  /**
   * Leads, or stands by because another server has the store.
   * @throws StartError, as of `startBackend`
   */
  static async begin(options: Options): Promise<FailoverBackend> {
    const backend = new FailoverBackend(options);
    await Promise.race([backend.#starting, backend.#standsBy]).catch(async (fault) => {
      await backend.stop();
      throw fault;
    });
    return backend;
  }

  async #start(options: Options): Promise<RunningBackend> {
    const running = await startBackend({ ...options, candidate: this.#reign, metrics: this.#relay.metrics });
    this.#running = running;
    const standby = this.#reign.other === null ? null : await this.#standsBy;
    this.#relay.attach(running.backend, standby && (await standby.leads(running.backend)));
    this.#reign.recovered();
    return running;
  }

  get backend(): Backend {
    return this.#relay;
  }

  /** `standing_by`, `taking_over`, `superseded`, or what the supervisor is in. */
  get state(): string {
    return this.#relay.state;
  }

  get idle(): Promise<void> | null {
    return this.#running?.idle ?? null;
  }

  async #standBy(options: Options): Promise<StandbyBackend> {
    // Loaded only here: a server with a store of its own does not need the driver.
    const { ReadSessions } = await import('./store/postgres/read-sessions.ts');
    const sessions = await ReadSessions.open(options.store as string);
    try {
      const standby = await this.#opened(options, sessions);
      this.#standby = standby;
      if (this.#running === null) this.#relay.attach(standby);
      return standby;
    } catch (fault) {
      await sessions.close();
      throw fault;
    }
  }

  /** A database that is away just then is waited for. */
  async #opened(options: Options, sessions: ReadSessions): Promise<StandbyBackend> {
    const parts = { reign: this.#reign, sessions, metrics: this.#relay.metrics };
    for (const { givesUp } = this.#reign; ; ) {
      try {
        return await StandbyBackend.open(options, parts);
      } catch (fault) {
        if (fault instanceof StartError || givesUp.aborted) throw fault;
      }
      await pause(AGAIN_MS, undefined, { signal: givesUp });
    }
  }

  /** Whether it leads, and who else does. */
  get leadership(): Leadership {
    return this.#reign;
  }

  /** Where clients, and other servers, reach it. */
  listensAt(address: string): void {
    this.#reign.address = address;
  }

  /** Who leads instead, for people; null where this one does. */
  get others(): string | null {
    return this.#reign.leads ? null : whoLeads(this.#reign.other);
  }

  async drain(): Promise<void> {
    this.#reign.end();
    const running = await this.#starting.catch(() => null);
    await running?.drain();
  }

  async stop(): Promise<void> {
    await this.drain();
    await this.#running?.stop();
    await this.#standby?.close();
  }

  async #superseded(): Promise<never> {
    const who = whoLeads(await this.#reign.superseded);
    throw new SupersededError(
      `another server has taken the store over: ${who}; start this one again, and it stands by`,
    );
  }

  /** Who is stopped while it stands by has not failed. */
  #failed(): Promise<never> {
    const never = new Promise<never>(() => {});
    return this.#starting.then(
      () => never,
      (fault) => {
        if (this.#reign.givesUp.aborted) return never;
        throw fault;
      },
    );
  }
}
