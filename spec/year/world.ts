import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerConfig } from '../../bin/programs/server-config.ts';
import { ResponseError, UnreachableError } from '../../gateway/client/errors.ts';
import { eventStream } from '../../gateway/client/event-stream.ts';
import type { EventView } from '../../machines/schema/views.ts';
import { History } from '../history/history.ts';
import { inTime } from '../support/in-time.ts';
import { quietPort } from '../support/program.ts';
import { Seeded } from '../support/seeded.ts';
import { until } from '../support/until.ts';
import { BEGIN, STEP } from './calendar.ts';
import { Doors } from './doors.ts';
import type { Order } from './orders.ts';
import { ServerDied, YearServer } from './year-server.ts';

export interface WorldOptions {
  seed: number;
  /** On which the server listens, whenever it does. */
  port: number;
  /** Where the server keeps its state; made by the first start. */
  state: string;
  /** An empty folder for everything else. */
  folder: string;
  /** What the server is told beside the usual. */
  config?: Partial<ServerConfig>;
  /** The folder of the installation that the year begins with. */
  home: string;
  /** Called with the state directory after each crash. */
  afterCrash?: ((state: string) => Promise<void>) | undefined;
}

export type Counts = Record<
  | 'submitted'
  | 'tasks'
  | 'requests'
  | 'refused'
  | 'crashes'
  | 'restarts'
  | 'upgrades'
  | 'rotations'
  | 'workers'
  | 'backups'
  | 'restored'
  | 'fullDisks'
  | 'looks'
  | 'deleted',
  number
>;

/** Times of a server that looks after workers which are heard every half an hour. Seconds. */
const TIMES = { heartbeatInterval: STEP, leaseTtl: 3.5 * STEP, workerDeadAfter: 2.5 * STEP };

/** Seconds in which a server that was killed has ended, and one that runs has told its events. */
const PATIENCE = 120;
/** Times that somebody asks again, a fifth of a second later, who got no answer. */
const TRIES = 50;

/** The server and its date, and what everybody shares who lives with it. */
export class World {
  readonly options: WorldOptions;
  /** What is in the events: every one of them was read once, by a stream. */
  readonly history = new History();
  readonly counts: Counts = {
    ...{ submitted: 0, tasks: 0, requests: 0, refused: 0, crashes: 0, restarts: 0, upgrades: 0 },
    ...{ rotations: 0, workers: 0, backups: 0, restored: 0, fullDisks: 0, looks: 0, deleted: 0 },
  };
  /** All workers that ever registered. */
  readonly workers = new Set<string>();
  readonly doors: Doors;
  readonly backups: string;
  /** Seconds since the epoch. */
  now = BEGIN;
  home: string;
  /** How often the server was started. */
  lives = 0;
  onEvent: (event: EventView) => void = () => {};
  #server: YearServer | null = null;
  readonly #port: number;
  #listening = new AbortController();
  #comingBack: Promise<void> | null = null;
  /** A broken promise that showed where nobody waited for it. */
  #fault: Error | null = null;

  private constructor(options: WorldOptions) {
    this.options = options;
    this.home = options.home;
    this.backups = join(options.folder, 'backups');
    mkdirSync(this.backups, { recursive: true });
    this.#port = options.port;
    this.doors = new Doors(join(options.folder, 'principals.json'), this.url);
  }

  static async make(options: Omit<WorldOptions, 'port'>): Promise<World> {
    const world = new World({ ...options, port: await quietPort() });
    await world.doors.add();
    return world;
  }

  chance(name: string): Seeded {
    return new Seeded(`${this.options.seed} ${name}`);
  }

  get state(): string {
    return this.options.state;
  }

  get server(): YearServer {
    if (!this.#server) throw new Error('there is no server');
    return this.#server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** What any server of the year is started with. */
  config(differs: Partial<ServerConfig> & { state: string }): ServerConfig {
    return {
      ...{ host: '127.0.0.1', port: 0, principals: [], corsOrigins: [], allowPythonJobs: false },
      ...{ maxRequestBytes: 16 * 2 ** 20, maxArtifactBytes: 2 ** 30, reserveBytes: 0 },
      ...{ serviceName: 'jq-cluster', headerPrefixes: [], logLevel: 'warn' as const },
      ...TIMES,
      logFile: join(this.options.folder, 'server.log'),
      ...this.options.config,
      ...differs,
    };
  }

  async start(): Promise<void> {
    this.#server = await YearServer.start(
      this.home,
      this.now,
      this.config({ state: this.state, port: this.#port, authFile: this.doors.path }),
    );
    this.lives++;
    this.#listen();
  }

  /** Ends the server in order. */
  async stop(): Promise<void> {
    this.#listening.abort();
    await this.#server?.stop();
    this.#server = null;
  }

  async kill(): Promise<void> {
    await this.#server?.kill();
    await this.#comeBack();
  }

  async close(): Promise<void> {
    this.#listening.abort();
    await this.#server?.kill();
    await this.doors.close();
  }

  /** Lets time pass, whatever happens to the server meanwhile. */
  async advance(to: number): Promise<void> {
    this.now = Math.max(to, this.now);
    await this.tell({ do: 'advance', to: this.now });
    if (this.#fault) throw this.#fault;
  }

  async tell(order: Order): Promise<void> {
    try {
      await this.server.tell(order);
    } catch (fault) {
      if (!(fault instanceof ServerDied)) throw fault;
      await this.#comeBack();
    }
  }

  /** Asks again where the server was killed before it answered, as every client of ours does. */
  async insist<T>(ask: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      this.counts.requests++;
      try {
        return await ask();
      } catch (fault) {
        if (fault instanceof ResponseError) this.counts.refused++;
        if (!(fault instanceof UnreachableError) || tries > TRIES) throw fault;
        // A connection may break on a busy machine, too.
        await Promise.race([this.server.ended, delay(200)]);
        if (this.server.over || this.#comingBack) await this.#comeBack();
      }
    }
  }

  /** Whether every event that is in the store has been read. */
  async caughtUp(lastId: number): Promise<void> {
    await until(
      'the stream to bring every event',
      () => this.#fault !== null || this.history.lastId >= lastId,
      PATIENCE,
    );
    if (this.#fault) throw this.#fault;
  }

  /** Where the server was killed, it is started again; once, whoever notices. */
  #comeBack(): Promise<void> {
    this.#comingBack ??= this.#startAgain().finally(() => {
      this.#comingBack = null;
    });
    return this.#comingBack;
  }

  async #startAgain(): Promise<void> {
    this.#listening.abort();
    await inTime('the server to have ended', this.server.ended, PATIENCE);
    this.counts.crashes++;
    await this.options.afterCrash?.(this.state);
    await this.start();
  }

  #listen(): void {
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    const client = this.doors.of('viewer');
    const read = async () => {
      for await (const event of eventStream({ client, signal, afterId: this.history.lastId })) {
        if (signal.aborted) return;
        this.history.take([event]);
        this.onEvent(event);
      }
    };
    read().catch((fault: Error) => {
      if (!signal.aborted) this.#fault ??= fault;
    });
  }
}
