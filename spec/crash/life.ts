import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Program, processesWith, quietPort } from '../support/program.ts';
import { Seeded } from '../support/seeded.ts';
import { type ServerProgram, spawnServer, startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';
import { Comparison, strayBlobs } from './compare.ts';
import { Hand } from './hand.ts';
import { Ledger } from './ledger.ts';
import { Line } from './line.ts';
import { operator, submitter, uploader } from './load.ts';
import { Rot } from './rot.ts';
import { Slices } from './slices.ts';
import { standStill } from './standstill.ts';
import { AIMS, type Aim, faultsFor, strike } from './strike.ts';
import { startWorkerProgram, TICK } from './worker-program.ts';

/** Seconds. */
const LEASE_TTL = 4;

export interface LifeOptions {
  /** An empty directory of its own. */
  folder: string;
  seed: number;
  rounds: number;
}

/** What one life of a state directory came to. */
export interface LifeFigures {
  rounds: Record<Aim, number>;
  workerKills: number;
  /** Copies of the worker's state directory that were started beside it. */
  clones: number;
  /** Times that the worker's runner was taken away for a round. */
  sicknesses: number;
  /** Times that the server, or it and its worker with all that it runs, stood still for longer than a lease. */
  standstills: number;
  /** Objects of the store whose bytes rotted, or were gone, after a crash. */
  spoilt: number;
  /** Servers that were killed between two slices of a job that they cancelled or retried. */
  halfWay: number;
  /** Tasks that refitted what a job selected. */
  refits: number;
  acknowledged: Record<string, number>;
  unanswered: number;
  /** What is wrong, with the round in which it was seen. */
  faults: string[];
}

/**
 * One state directory, many servers, each killed while clients and workers use it. After each crash the store is
 * compared with what had been acknowledged; in the end all work is done, and nothing is left over.
 */
export class Life {
  readonly #options: LifeOptions;
  readonly #chance: Seeded;
  readonly #ledger = new Ledger();
  readonly #comparison: Comparison;
  readonly #faults: string[] = [];
  readonly #rounds = Object.fromEntries(AIMS.map((aim) => [aim, 0])) as Record<Aim, number>;
  readonly #state: string;
  readonly #scratch: string;
  #workerKills = 0;
  #port = 0;
  #server: Program | null = null;
  #worker: Program | null = null;
  #clone: Program | null = null;
  #clones = 0;
  #sicknesses = 0;
  #standstills = 0;
  #spoilt = 0;
  /** The worker's runner, in a place from which it can be taken away. */
  readonly #tick: string;

  constructor(options: LifeOptions) {
    this.#options = options;
    this.#chance = new Seeded(options.seed);
    this.#state = join(options.folder, 'server');
    this.#scratch = join(options.folder, 'files');
    this.#comparison = new Comparison(this.#state, this.#ledger);
    mkdirSync(this.#state);
    mkdirSync(this.#scratch);
    this.#tick = join(options.folder, 'tick.sh');
    copyFileSync(TICK, this.#tick);
    chmodSync(this.#tick, 0o755);
  }

  get #url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async run(): Promise<LifeFigures> {
    this.#port = await quietPort();
    const line = new Line(this.#url, this.#ledger);
    const slices = new Slices(line, this.#state);
    const load = this.#load(line);
    // A fault of the load ends the life; it must not go unheard until then.
    load.catch(() => {});
    try {
      this.#worker = this.#startWorker();
      for (let round = 0; round < this.#options.rounds; round++) {
        await Promise.race([this.#round(round, line, slices), load]);
      }
      await this.#end(line, load, slices);
    } finally {
      await line.abandon();
      await this.#server?.kill();
      await this.#worker?.kill();
      await this.#clone?.kill();
    }
    return {
      rounds: this.#rounds,
      workerKills: this.#workerKills,
      clones: this.#clones,
      sicknesses: this.#sicknesses,
      standstills: this.#standstills,
      spoilt: this.#spoilt,
      halfWay: slices.halfWay,
      refits: this.#comparison.refits,
      acknowledged: this.#ledger.counts(),
      unanswered: this.#ledger.unanswered,
      faults: this.#faults,
    };
  }

  async #load(line: Line): Promise<void> {
    const chance = () => new Seeded(this.#chance.whole(0, 2 ** 31));
    await Promise.all([
      ...[1, 2, 3].map((n) => submitter(line, chance(), `job${n}`)),
      ...[1, 2, 3, 4, 5].map(() => new Hand(line, chance()).run()),
      operator(line, chance()),
      uploader(line, chance(), this.#scratch),
    ]);
  }

  async #round(round: number, line: Line, slices: Slices): Promise<void> {
    const aim = AIMS[round % AIMS.length] as Aim;
    this.#rounds[aim]++;
    await this.#endClone();
    this.#heal();
    const left = this.#uploads();
    const rot = this.#rot(line);
    // In those rounds the server does not end by itself before it is all mended.
    if (aim === 'upload' || aim === 'record') this.#spoilt += rot.spoil();
    if (aim === 'start-up') await this.#interruptStart();
    this.#server = await this.#startServer(aim);
    this.#note(round, aim, await rot.lookAndMend());
    this.#note(round, aim, await slices.look());
    await this.#check(round, aim, left);
    if (aim === 'moment') this.#note(round, aim, await this.#standStill(line));
    if (round % 3 === 2) await this.#replaceWorker();
    if (round % 4 === 1) this.#startClone();
    if (round % 5 === 3) this.#sicken();
    const [server, state, scratch, chance] = [this.#server, this.#state, this.#scratch, this.#chance];
    await strike(aim, { server, state, scratch, line, slices, chance, label: `round${round}` });
  }

  #startServer(aim?: Aim): Promise<ServerProgram> {
    const faults = aim && faultsFor(aim, this.#chance);
    return startServerProgram({ ...this.#serverOptions(), ...(faults ? { faults } : {}) });
  }

  #serverOptions() {
    return {
      state: this.#state,
      port: this.#port,
      leaseTtl: LEASE_TTL,
      heartbeatInterval: 1,
      workerDeadAfter: 3,
    };
  }

  /** A server that dies before, or shortly after, it has replayed the store. */
  async #interruptStart(): Promise<void> {
    const server = spawnServer(this.#serverOptions());
    await until('the lock to be taken', () => existsSync(join(this.#state, 'lock.sqlite-journal')), 120);
    await delay(this.#chance.whole(0, 60));
    await server.kill();
  }

  async #check(round: number, aim: Aim | 'end', uploadsBefore: string[]): Promise<void> {
    const found = await this.#comparison.make();
    const present = new Set(this.#uploads());
    found.push(
      ...uploadsBefore.filter((name) => present.has(name)).map((name) => `the upload ${name} was left over`),
    );
    this.#note(round, aim, found);
  }

  #note(round: number, aim: Aim | 'end', found: readonly string[]): void {
    this.#faults.push(...found.map((fault) => `round ${round} (${aim}): ${fault}`));
  }

  #rot(line: Line): Rot {
    const [state, scratch, ledger, chance] = [this.#state, this.#scratch, this.#ledger, this.#chance];
    return new Rot({ state, scratch, ledger, chance, line, url: this.#url });
  }

  /** The server alone, or everything, as on a machine that is suspended: clients and other machines go on. */
  #standStill({ client }: Line): Promise<string[]> {
    const all = this.#standstills++ % 2 === 1;
    const tasks = join(this.#options.folder, 'worker', 'tasks');
    const processes = () => {
      const others = all ? [this.#worker?.pid, ...processesWith(tasks)] : [];
      return [this.#server?.pid, ...others].filter((pid) => pid !== undefined);
    };
    return standStill({ client, leaseTtl: LEASE_TTL, processes });
  }

  #uploads(): string[] {
    const folder = join(this.#state, 'uploads');
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  #startWorker(): Program {
    const state = join(this.#options.folder, 'worker');
    return startWorkerProgram(this.#url, state, this.#tick);
  }

  /** A copy of the state directory of the worker that is at work, started beside it. */
  #startClone(): void {
    if (!existsSync(join(this.#options.folder, 'worker', 'worker.json'))) return;
    this.#clones++;
    const [from, to] = ['worker', 'clone'].map((name) => join(this.#options.folder, name)) as [
      string,
      string,
    ];
    rmSync(to, { recursive: true, force: true });
    // As a person copies it: what comes and goes meanwhile is left out.
    cpSync(join(from, 'worker.json'), join(to, 'worker.json'));
    for (const part of ['outbox', 'tasks']) copyWhatIsThere(join(from, part), join(to, part));
    this.#clone = startWorkerProgram(this.#url, to, this.#tick);
  }

  async #endClone(): Promise<void> {
    await this.#clone?.kill();
    if (this.#clone) await this.#noChildren('after the copy of the worker was killed', 'clone');
    this.#clone = null;
  }

  /** The worker's runner is gone: it must not swallow the jobs that others can do. */
  #sicken(): void {
    this.#sicknesses++;
    renameSync(this.#tick, `${this.#tick}.away`);
  }

  #heal(): void {
    if (existsSync(`${this.#tick}.away`)) renameSync(`${this.#tick}.away`, this.#tick);
  }

  /** The worker is killed as well; its children must not outlive it, and another one takes its place. */
  async #replaceWorker(): Promise<void> {
    this.#workerKills++;
    await this.#worker?.kill();
    await this.#noChildren('after the worker was killed');
    this.#worker = this.#startWorker();
  }

  async #noChildren(when: string, of: 'worker' | 'clone' = 'worker'): Promise<void> {
    const tasks = join(this.#options.folder, of, 'tasks');
    const gone = until('the children of the worker to be gone', () => processesWith(tasks).length === 0);
    await gone.catch(() =>
      this.#faults.push(`${when}: children live on: ${processesWith(tasks).join(', ')}`),
    );
  }

  /** Nobody submits any more; everything that was accepted comes to its end. */
  async #end(line: Line, load: Promise<void>, slices: Slices): Promise<void> {
    await this.#endClone();
    this.#heal();
    const left = this.#uploads();
    this.#server = await this.#startServer();
    await this.#check(this.#options.rounds, 'end', left);
    this.#note(this.#options.rounds, 'end', await slices.look());
    line.shut();
    await until('all jobs to end', () => this.#allEnded(line), 900);
    line.dismiss();
    await load;
    const { rounds } = this.#options;
    await this.#check(rounds, 'end', this.#uploads());
    const { code } = (await this.#worker?.terminate()) ?? {};
    if (code !== 0) this.#faults.push(`the worker ended with ${code}`);
    await this.#noChildren('at the end');
    const stopped = await this.#server.terminate();
    if (stopped.code !== 0) this.#faults.push(`the server ended with ${stopped.code}`);
    const strays = await strayBlobs(this.#state);
    this.#faults.push(...strays.map((path) => `at the end: no artifact names ${path}`));
  }

  async #allEnded(line: Line): Promise<boolean> {
    const stats = await line.client.call('getStats');
    const { queued = 0, running = 0, cancelling = 0 } = stats.jobs_by_status as Record<string, number>;
    return queued + running + cancelling === 0;
  }
}

function copyWhatIsThere(from: string, to: string): void {
  if (!existsSync(from)) return;
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    try {
      cpSync(join(from, name), join(to, name), { recursive: true });
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'ENOENT') throw fault;
    }
  }
}
