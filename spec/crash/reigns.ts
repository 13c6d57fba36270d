import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterClient } from '../../gateway/client/client.ts';
import { eventStream } from '../../gateway/client/event-stream.ts';
import type { PostgresPair } from '../support/postgres-pair.ts';
import type { Program } from '../support/program.ts';
import { Seeded } from '../support/seeded.ts';
import { until } from '../support/until.ts';
import { BLOWS, type Blow, type BlowName } from './blows.ts';
import { Comparison } from './compare.ts';
import { Hand } from './hand.ts';
import { Ledger } from './ledger.ts';
import { Line } from './line.ts';
import { jobText, operator, submitter, uploader } from './load.ts';
import { type Member, Members, SUPERSEDED } from './members.ts';
import { startWorkerProgram } from './worker-program.ts';

/** Seconds until somebody has to lead, on a machine that has much else to do. */
const PATIENCE = 120;
/** Milliseconds for which an answer is waited for before another server is asked. */
const ANSWER_MS = { load: 10_000, next: 10_000 };

/** Milliseconds between two requests of those who submit: what takes long here are the take-overs. */
const PAUSE_MS = 200;

export interface ReignsOptions {
  /** An empty directory of its own. */
  folder: string;
  seed: number;
  servers: number;
  pair: PostgresPair;
}

/** What came of servers on one database of which the one that leads is struck again and again. */
export interface ReignFigures {
  /** Milliseconds from the blow until a job was acknowledged, by another server where that one cannot. */
  took: Partial<Record<BlowName, number[]>>;
  acknowledged: Record<string, number>;
  unanswered: number;
  /** Events that one stream brought, over all reigns. */
  followed: number;
  faults: string[];
}

/**
 * Servers on one database, used by clients and workers that know them all. After each take-over the store is compared with what had been
 * acknowledged, whoever did so; in the end all work is done.
 */
export class Reigns {
  readonly #options: ReignsOptions;
  readonly #chance: Seeded;
  readonly #ledger = new Ledger();
  readonly #members: Members;
  readonly #comparison: Comparison;
  readonly #line: Line;
  readonly #worker: Program;
  readonly #load: Promise<unknown>;
  readonly #faults: string[] = [];
  readonly #took: ReignFigures['took'] = {};
  #followed = 0;
  #rounds = 0;

  private constructor(options: ReignsOptions, members: Members) {
    this.#options = options;
    this.#chance = new Seeded(options.seed);
    this.#members = members;
    this.#comparison = new Comparison(members.shared, this.#ledger, members.store);
    this.#line = new Line(members.urls(), this.#ledger, ANSWER_MS.load);
    this.#worker = startWorkerProgram(members.urls(), join(options.folder, 'worker'));
    this.#load = Promise.all([this.#use(), this.#follow()]);
    // A fault of the load ends it all; it must not go unheard until then.
    this.#load.catch(() => {});
  }

  /** Starts the servers, and their use. */
  static async begin(options: ReignsOptions): Promise<Reigns> {
    return new Reigns(options, await Members.start(options.folder, options.servers, options.pair));
  }

  /** One blow, until it is over, and the look at what came of it. @returns what is wrong, a line each */
  async round(name: BlowName): Promise<string[]> {
    const known = this.#faults.length;
    await Promise.race([this.#round(name, BLOWS[name]), this.#load]);
    return this.#faults.slice(known);
  }

  /** Nobody submits any more; everything that was accepted comes to its end. */
  async end(): Promise<ReignFigures> {
    const line = this.#line;
    line.shut();
    await until('all jobs to end', () => allEnded(line), 900);
    const [last] = await line.persist(() => line.client.call('listEvents', { query: { limit: 1 } }));
    await until('the last event to be followed', () => this.#followed >= (last?.id ?? 0), PATIENCE);
    line.dismiss();
    await this.#load;
    await this.#compare('at the end');
    return {
      took: this.#took,
      acknowledged: this.#ledger.counts(),
      unanswered: this.#ledger.unanswered,
      followed: this.#followed,
      faults: this.#faults,
    };
  }

  /** Ends all that was started, whatever it is at. */
  async close(): Promise<void> {
    await this.#line.abandon();
    await this.#worker.kill();
    await this.#members.stop();
  }

  async #use(): Promise<void> {
    const line = this.#line;
    const chance = () => new Seeded(this.#chance.whole(0, 2 ** 31));
    const scratch = join(this.#options.folder, 'files');
    mkdirSync(scratch);
    await Promise.all([
      ...[1, 2].map((n) => submitter(line, chance(), `job${n}`, PAUSE_MS)),
      ...[1, 2, 3].map(() => new Hand(line, chance()).run()),
      operator(line, chance()),
      uploader(line, chance(), scratch, PAUSE_MS),
    ]);
  }

  /** One stream over all reigns: each event once, in order, and none left out. */
  async #follow(): Promise<void> {
    const line = this.#line;
    const end = new AbortController();
    const done = until('the load to end', () => !line.staffed, 24 * 3600).then(() => end.abort());
    for await (const { id } of eventStream({ client: line.client, afterId: 0, signal: end.signal })) {
      if (id !== this.#followed + 1)
        this.#faults.push(`the stream brought event ${id} after ${this.#followed}`);
      this.#followed = id;
    }
    await done;
  }

  async #round(name: BlowName, blow: Blow): Promise<void> {
    const { pair } = this.#options;
    const when = `round ${++this.#rounds} (${name})`;
    const leader = await until('one to lead', () => this.#members.leader(), PATIENCE);
    await delay(this.#chance.whole(200, 1500));
    const struck = { leader, pair, members: this.#members };
    const since = performance.now();
    await blow.strike(struck);
    await this.#acknowledged(blow.next === 'another' ? leader : null);
    this.#tookFrom(since, name);
    await blow.heal(struck);
    if (blow.ends !== null) await this.#ended(when, leader, blow.ends);
    this.#note(when, await this.#members.startEnded());
    await this.#compare(when);
  }

  #tookFrom(since: number, name: BlowName): void {
    const took = this.#took[name] ?? [];
    this.#took[name] = [...took, performance.now() - since];
  }

  async #ended(when: string, { program }: Member, how: 'killed' | 'superseded'): Promise<void> {
    const { code } = await until('the one that led to end', () => program.over && program.ended, PATIENCE);
    if (how === 'superseded' && code !== SUPERSEDED)
      this.#note(when, [`the one that led ended with ${code}: ${program.stderr}`]);
  }

  /** A job is acknowledged, by another server than this one. */
  async #acknowledged(than: Member | null): Promise<void> {
    const client = new ClusterClient({ server: this.#members.urls(than), timeoutMs: ANSWER_MS.next });
    const name = `reign-${this.#rounds}`;
    const text = `${jobText(name, 1).slice(0, -1)},"idempotency_key":"${name}"}`;
    this.#ledger.submitted.add(name);
    const submit = () => client.call('submitJob', { text }).catch(() => null);
    try {
      const job = await until('a job to be acknowledged', submit, PATIENCE);
      this.#ledger.add({ what: 'job', name, id: job.id, text });
    } finally {
      await client.close();
    }
  }

  async #compare(when: string): Promise<void> {
    this.#note(when, await this.#comparison.make());
  }

  #note(when: string, faults: readonly string[]): void {
    this.#faults.push(...faults.map((fault) => `${when}: ${fault}`));
  }
}

async function allEnded(line: Line): Promise<boolean> {
  const stats = await line.persist(() => line.client.call('getStats'));
  const { queued = 0, running = 0, cancelling = 0 } = stats.jobs_by_status as Record<string, number>;
  return queued + running + cancelling === 0;
}
