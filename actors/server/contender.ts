import type { Backend } from '../../gateway/backend.ts';
import type { ClusterError } from '../../machines/protocol/errors.ts';
import { SupersededError } from '../../machines/protocol/superseded-error.ts';
import { type BackendOptions, type RunningBackend, startBackend } from './backend.ts';
import { Reign, whoLeads } from './reign.ts';
import { BackendRelay } from './relay.ts';

type Options = Omit<BackendOptions, 'candidate' | 'metrics'>;

/** A server's cluster, which waits behind the same backend until the store is its own. */
export class Contender implements Omit<RunningBackend, 'backend'> {
  readonly #reign: Reign;
  readonly #relay: BackendRelay;
  readonly #starting: Promise<RunningBackend>;
  /** Resolves once it leads. */
  readonly leads: Promise<void>;
  /** Rejects should it end by itself: with `SupersededError`, or `StartError` when it cannot take over. */
  readonly ended: Promise<never>;
  #running: RunningBackend | null = null;

  private constructor(options: Options) {
    this.#reign = new Reign(options.log);
    this.#relay = new BackendRelay(this.#reign);
    this.#starting = this.#start(options);
    this.leads = this.#starting.then(() => {});
    this.ended = Promise.race([this.#superseded(), this.#failed()]);
    // Not everybody asks.
    for (const promise of [this.leads, this.ended]) promise.catch(() => {});
  }

  /**
   * Leads, or stands by because another server has the store.
   * @throws StartError, as of `startBackend`
   */
  static async begin(options: Options): Promise<Contender> {
    const contender = new Contender(options);
    await Promise.race([contender.#starting, contender.#reign.stoodBy]);
    return contender;
  }

  async #start(options: Options): Promise<RunningBackend> {
    const running = await startBackend({ ...options, candidate: this.#reign, metrics: this.#relay.metrics });
    this.#relay.attach(running.backend);
    this.#running = running;
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

  /** What is said instead of an answer at present; null where this server leads. */
  get refusal(): ClusterError | null {
    return this.#reign.refusal;
  }

  /** Where clients reach it. */
  listensAt(address: string): void {
    this.#reign.address = address;
  }

  /** Who leads instead, for people; null where this one does. */
  get others(): string | null {
    return this.refusal && whoLeads(this.#reign.leader);
  }

  async drain(): Promise<void> {
    this.#reign.end();
    const running = await this.#starting.catch(() => null);
    await running?.drain();
  }

  async stop(): Promise<void> {
    await this.drain();
    await this.#running?.stop();
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
