import { createHash } from 'node:crypto';
import { History, must } from '../history/history.ts';
import { Rows } from '../history/rows.ts';
import { Seeded } from '../support/seeded.ts';
import { StepClock } from '../support/step-clock.ts';
import { seen } from '../support/views.ts';
import { PlayedAgent } from './agent.ts';
import { Chaos, type ChaosCounts } from './chaos.ts';
import { PlayedClient } from './client.ts';
import { Ledger } from './ledger.ts';
import { compareMemory, compareStore } from './look.ts';
import { Network, type NetworkCounts } from './network.ts';
import { PlayedServer } from './server.ts';
import { PeerTime } from './time.ts';

export interface SimulationOptions {
  seed: number;
  /**
   * Simulated hours of chaos where workers beat every ten seconds; with slower hearts everything takes
   * proportionally longer. What is under way then has a day to end.
   */
  hours: number;
  /** Where the state directory is made. */
  base: string;
  /** What goes wrong; all where it is left out. */
  faults?: 'all' | 'stalls' | 'workers' | 'leaders';
  /** Whether jobs of several tasks select the best of them. */
  selects?: boolean;
  /** Called with each line of the trace. */
  onLine?: (line: string) => void;
  /** Called with the state directory after each crash; to see that a loss is found. */
  afterCrash?: (folder: string) => Promise<void>;
}

export interface Simulated {
  /** Over everything that happened, with its time: equal for equal seeds. */
  trace: string;
  steps: number;
  /** Simulated seconds. */
  seconds: number;
  events: number;
  jobs: number;
  tasks: number;
  /** Acknowledged requests that were found in the store. */
  acknowledged: number;
  children: number;
  /** Tasks that were taken from a worker for silent, and workers that counted as dead. */
  losses: number;
  /** Times that a worker asked for no tasks because it was ill, and that one learnt that it is a copy. */
  suspended: number;
  superseded: number;
  /** Tasks that had the result of an earlier one. */
  reused: number;
  /** Tasks that refitted what a job selected. */
  refits: number;
  commits: number;
  failedCommits: number;
  /** Servers that heard that another one had taken the store. */
  overthrown: number;
  network: NetworkCounts;
  chaos: ChaosCounts;
}

const SITES = ['a', 'b'];
/** So often, in steps, what moved is looked up in the store. */
const LOOK = 400;
const A_DAY = 86_400;

/**
 * One simulated cluster, from its start to the end of its last job. Must run under `playTime`.
 * @throws Error when a promise of the service is broken; its message has the last lines of the trace
 */
export async function simulate(options: SimulationOptions): Promise<Simulated> {
  const simulation = await Simulation.make(options);
  try {
    return await simulation.run();
  } catch (fault) {
    const lines = simulation.lastLines.map((line) => `  ${line}`).join('\n');
    throw new Error(`${(fault as Error).message}\n${lines}`, { cause: fault });
  } finally {
    await simulation.remove();
  }
}

class Simulation {
  readonly lastLines: string[] = [];
  readonly #options: SimulationOptions;
  readonly #clock: StepClock;
  readonly #server: PlayedServer;
  readonly #network: Network;
  readonly #agents: PlayedAgent[] = [];
  readonly #clients: PlayedClient[] = [];
  readonly #history = new History();
  readonly #rows = new Rows(this.#history);
  readonly #ledger = new Ledger();
  readonly #hash = createHash('sha256');
  readonly #chaos: Chaos;
  /** How much slower than with the default heartbeat everything goes. */
  readonly #slowness: number;
  #steps = 0;
  #losses = 0;
  #suspended = 0;
  #soon: (() => Promise<void>)[] = [];
  /** A broken promise that showed while events were published. */
  #fault: Error | null = null;

  private constructor(options: SimulationOptions, clock: StepClock, server: PlayedServer, interval: number) {
    this.#options = options;
    this.#slowness = interval / 10;
    this.#clock = clock;
    this.#server = server;
    this.#network = new Network(
      clock,
      () => server.wire,
      (line) => this.#note(line),
    );
    this.#network.onAcknowledged = (answer) => this.#ledger.note(answer);
    server.onEvents = (events) => this.#take(events);
    for (let i = 0; i < 3; i++) this.#addAgent(`worker ${i}`, SITES[i % 2] as string, 1 + (i % 3), interval);
    for (let i = 0; i < 2; i++) this.#addClient(`client ${i}`);
    this.#chaos = new Chaos({
      clock,
      chance: this.#chance('chaos'),
      server,
      agents: this.#agents,
      lines: [...this.#agents, ...this.#clients].map(({ line }) => line),
      slowness: this.#slowness,
      faults: options.faults ?? 'all',
      soon: (action) => this.#soon.push(action),
      afterCrash: async () => options.afterCrash?.(server.folder),
      note: (line) => this.#note(line),
    });
  }

  static async make(options: SimulationOptions): Promise<Simulation> {
    const clock = new StepClock();
    const interval = new Seeded(`${options.seed} interval`).pick([10, 60, 240]);
    const settings = {
      ...{ heartbeatInterval: interval, leaseTtl: 6 * interval, workerDeadAfter: 4.5 * interval },
      // Jobs have up to four tasks: to cancel or to retry one takes several turns, or one.
      sliceSize: new Seeded(`${options.seed} slices`).pick([1, 2, 500]),
    };
    const chance = new Seeded(`${options.seed} server`);
    const server = await PlayedServer.make(clock, chance, settings, options.base);
    return new Simulation(options, clock, server, interval);
  }

  async run(): Promise<Simulated> {
    for (const agent of this.#agents) agent.start();
    for (const client of this.#clients) client.start();
    this.#chaos.start();
    const calm = this.#clock.monotonic() + this.#options.hours * 3600 * this.#slowness;
    while (this.#clock.monotonic() < calm) await this.#step();
    this.#chaos.end();
    for (const client of this.#clients) client.end();
    this.#note('calm');
    // Once in any case: what reached the server while it stood still is only now on its way.
    do {
      must(
        this.#clock.monotonic() < calm + A_DAY * this.#slowness,
        `nothing is wrong, and after a day there still are ${this.#left}`,
      );
      await this.#step();
    } while (!this.#hasEnded);
    await this.#look('everything');
    const acknowledged = await this.#ledger.compareStore(this.#history, this.#rows, this.#server.port);
    return this.#summary(acknowledged);
  }

  async remove(): Promise<void> {
    for (const agent of this.#agents) if (agent.isRunning) agent.crash();
    await this.#server.remove();
  }

  #chance(name: string): Seeded {
    return new Seeded(`${this.#options.seed} ${name}`);
  }

  #addAgent(name: string, site: string, slots: number, interval: number): void {
    const time = new PeerTime(this.#clock);
    const line = this.#network.line(name, time, this.#chance(`${name} line`));
    const chance = this.#chance(name);
    this.#agents.push(
      new PlayedAgent({
        name,
        slots,
        site,
        time,
        line,
        chance,
        leaseWait: Math.min(60, 2 * interval),
        longest: 240 * this.#slowness,
      }),
    );
  }

  #addClient(name: string): void {
    const time = new PeerTime(this.#clock);
    const line = this.#network.line(name, time, this.#chance(`${name} line`));
    const chance = this.#chance(name);
    this.#clients.push(
      new PlayedClient({
        ...{ name, time, line, chance, sites: SITES, selects: this.#options.selects ?? false },
        pace: 200 * this.#slowness,
        longestTimeout: 900 * this.#slowness,
      }),
    );
  }

  /** Goes to the next moment at which something happens, lets all of it come to rest, and looks. */
  async #step(): Promise<void> {
    this.#steps++;
    this.#clock.moveTo(this.#clock.nextAt);
    for (let action = this.#soon.shift(); action; action = this.#soon.shift()) {
      const { reigns } = this.#server;
      await action();
      if (this.#server.reigns !== reigns) await this.#catchUp();
    }
    const worked = await this.#server.rest();
    if (this.#fault) throw this.#fault;
    if (!this.#server.isUp) return;
    if (worked) await compareMemory(this.#server.port, this.#history);
    this.#ledger.compareEvents(this.#history);
    if (this.#steps % LOOK === 0) await this.#look('what moved');
  }

  /** After a start: what was durable and nobody had heard of, and whether all that was acknowledged is there. */
  async #catchUp(): Promise<void> {
    this.#take(await seen(this.#server.port).events({ after_id: this.#history.lastId, limit: 1_000_000 }));
    if (this.#fault) throw this.#fault;
    await compareMemory(this.#server.port, this.#history);
    await this.#look('everything');
  }

  async #look(at: 'everything' | 'what moved'): Promise<void> {
    if (!this.#server.isIdle) return;
    // That a lease is over has to be written as well.
    const now = this.#server.isPunctual ? this.#clock.now() : null;
    await compareStore(this.#server.port, this.#history, this.#rows, now, at);
  }

  #take(events: Parameters<History['take']>[0]): void {
    for (const { id, type, task_id, job_id } of events) {
      this.#note(`event ${id} ${type} ${task_id ?? job_id ?? ''}`);
      if (type === 'task_lost' || type === 'worker_dead') this.#losses++;
      if (type === 'worker_suspended') this.#suspended++;
    }
    try {
      this.#history.take(events);
    } catch (fault) {
      this.#fault ??= fault as Error;
    }
  }

  get #hasEnded(): boolean {
    return (
      this.#server.isIdle &&
      this.#history.unended.length === 0 &&
      this.#agents.every((agent) => agent.isRunning && !agent.isBusy && agent.undelivered === 0)
    );
  }

  get #left(): string {
    const busy = this.#agents
      .filter((agent) => agent.isBusy || agent.undelivered > 0)
      .map(({ name }) => name);
    return JSON.stringify({ jobs: this.#history.unended, busy, up: this.#server.isUp });
  }

  #note(text: string): void {
    const line = `${this.#clock.monotonic().toFixed(6)} ${text}`;
    this.#hash.update(`${line}\n`);
    this.#options.onLine?.(line);
    this.lastLines.push(line.slice(0, 300));
    if (this.lastLines.length > 60) this.lastLines.shift();
  }

  #summary(acknowledged: number): Simulated {
    return {
      trace: this.#hash.digest('hex'),
      steps: this.#steps,
      seconds: Math.round(this.#clock.monotonic() - 1000),
      events: this.#history.lastId,
      jobs: this.#history.jobs.size,
      tasks: this.#history.tasks.size,
      acknowledged,
      children: this.#agents.reduce((sum, agent) => sum + agent.counts.children, 0),
      losses: this.#losses,
      suspended: this.#suspended,
      superseded: this.#agents.reduce((sum, agent) => sum + agent.counts.superseded, 0),
      reused: this.#history.reused,
      refits: this.#history.refits,
      commits: this.#server.counts.commits,
      failedCommits: this.#server.counts.failedCommits,
      overthrown: this.#server.counts.superseded,
      network: this.#network.counts,
      chaos: this.#chaos.counts,
    };
  }
}
