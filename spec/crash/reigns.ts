import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterClient } from '../../gateway/client/client.ts';
import { eventStream } from '../../gateway/client/event-stream.ts';
import { type Program, quietPort } from '../support/program.ts';
import { Seeded } from '../support/seeded.ts';
import { startServerProgram } from '../support/server-program.ts';
import { storeOf } from '../support/test-store.ts';
import { until } from '../support/until.ts';
import { Comparison } from './compare.ts';
import { Hand } from './hand.ts';
import { Ledger } from './ledger.ts';
import { Line } from './line.ts';
import { jobText, operator, submitter, uploader } from './load.ts';
import { startWorkerProgram } from './worker-program.ts';

/** What befalls the one that leads: `kill -9`, or `SIGSTOP` until another one leads, and `SIGCONT` then. */
export const BLOWS = ['kill', 'stop'] as const;
type Blow = (typeof BLOWS)[number];

/** How a server ends that has been superseded. */
const SUPERSEDED = 75;
/** Seconds until somebody has to lead, on a machine that has much else to do. */
const PATIENCE = 120;

export interface ReignsOptions {
  /** An empty directory of its own. */
  folder: string;
  seed: number;
  rounds: number;
  servers: number;
}

/** What came of servers on one database of which the one that leads is struck again and again. */
export interface ReignFigures {
  /** Milliseconds from the blow until another server had acknowledged a job. */
  took: Record<Blow, number[]>;
  acknowledged: Record<string, number>;
  unanswered: number;
  /** Events that one stream brought, over all reigns. */
  followed: number;
  faults: string[];
}

interface Member {
  readonly state: string;
  readonly port: number;
  readonly url: string;
  program: Program;
}

/**
 * Servers on one database, used by clients and workers that know them all. After each take-over the store is compared with what had been
 * acknowledged, whoever did so; in the end all work is done.
 */
export class Reigns {
  readonly #options: ReignsOptions;
  readonly #chance: Seeded;
  readonly #ledger = new Ledger();
  readonly #members: Member[] = [];
  readonly #faults: string[] = [];
  readonly #took: ReignFigures['took'] = { kill: [], stop: [] };
  #followed = 0;

  constructor(options: ReignsOptions) {
    this.#options = options;
    this.#chance = new Seeded(options.seed);
  }

  get #urls(): string {
    return this.#members.map(({ url }) => url).join(',');
  }

  async run(): Promise<ReignFigures> {
    const { folder, rounds } = this.#options;
    let worker: Program | null = null;
    let line: Line | null = null;
    try {
      await this.#startAll();
      line = new Line(this.#urls, this.#ledger);
      worker = startWorkerProgram(this.#urls, join(folder, 'worker'));
      const comparison = new Comparison(this.#shared, this.#ledger);
      const load = Promise.all([this.#load(line), this.#follow(line)]);
      // A fault of the load ends it all; it must not go unheard until then.
      load.catch(() => {});
      for (let round = 0; round < rounds; round++) await Promise.race([this.#round(round, comparison), load]);
      await this.#end(line, load, comparison);
    } finally {
      await line?.abandon();
      await worker?.kill();
      await Promise.all(this.#members.map(({ program }) => program.kill()));
    }
    return {
      took: this.#took,
      acknowledged: this.#ledger.counts(),
      unanswered: this.#ledger.unanswered,
      followed: this.#followed,
      faults: this.#faults,
    };
  }

  /** The state directory that has the bytes of artifacts; the others lead there, as to a disk that all have. */
  get #shared(): string {
    return join(this.#options.folder, 'server-0');
  }

  async #startAll(): Promise<void> {
    const objects = join(this.#shared, 'objects');
    mkdirSync(objects, { recursive: true });
    for (let n = 0; n < this.#options.servers; n++) {
      const state = join(this.#options.folder, `server-${n}`);
      mkdirSync(state, { recursive: true });
      if (n > 0) symlinkSync(objects, join(state, 'objects'));
      const port = await quietPort();
      const url = `http://127.0.0.1:${port}`;
      this.#members.push({ state, port, url, program: await this.#start(state, port) });
    }
  }

  #start(state: string, port: number): Promise<Program> {
    const store = storeOf(this.#shared);
    if (store === undefined) throw new Error('several servers need JQ_TEST_STORE=postgresql');
    return startServerProgram({
      ...{ state, port, store },
      leaseTtl: 4,
      heartbeatInterval: 1,
      workerDeadAfter: 3,
    });
  }

  async #load(line: Line): Promise<void> {
    const chance = () => new Seeded(this.#chance.whole(0, 2 ** 31));
    const scratch = join(this.#options.folder, 'files');
    mkdirSync(scratch);
    await Promise.all([
      ...[1, 2].map((n) => submitter(line, chance(), `job${n}`)),
      ...[1, 2, 3].map(() => new Hand(line, chance()).run()),
      operator(line, chance()),
      uploader(line, chance(), scratch),
    ]);
  }

  /** One stream over all reigns: each event once, in order, and none left out. */
  async #follow(line: Line): Promise<void> {
    const end = new AbortController();
    const done = until('the load to end', () => !line.staffed, 24 * 3600).then(() => end.abort());
    for await (const { id } of eventStream({ client: line.client, afterId: 0, signal: end.signal })) {
      if (id !== this.#followed + 1)
        this.#faults.push(`the stream brought event ${id} after ${this.#followed}`);
      this.#followed = id;
    }
    await done;
  }

  async #round(round: number, comparison: Comparison): Promise<void> {
    const blow = BLOWS[round % BLOWS.length] as Blow;
    const leader = await until('one to lead', () => this.#leader(), PATIENCE);
    await delay(this.#chance.whole(200, 1500));
    const since = performance.now();
    leader.program.child.kill(blow === 'kill' ? 'SIGKILL' : 'SIGSTOP');
    await this.#firstCommit(round, leader);
    this.#took[blow].push(performance.now() - since);
    leader.program.child.kill('SIGCONT');
    const { code } = await leader.program.ended;
    if (blow === 'stop' && code !== SUPERSEDED)
      this.#faults.push(
        `round ${round}: the one that was stopped ended with ${code}: ${leader.program.stderr}`,
      );
    leader.program = await this.#start(leader.state, leader.port);
    await this.#compare(`round ${round} (${blow})`, comparison);
  }

  async #leader(): Promise<Member | undefined> {
    const ready = this.#members.map(({ url }) =>
      fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    return this.#members[(await Promise.all(ready)).indexOf(true)];
  }

  /** A job that another server than this one has acknowledged. */
  async #firstCommit(round: number, than: Member): Promise<void> {
    const others = this.#members.filter((member) => member !== than).map(({ url }) => url);
    const client = new ClusterClient({ server: others.join(',') });
    const name = `reign-${round}`;
    const text = `${jobText(name, 1).slice(0, -1)},"idempotency_key":"${name}"}`;
    this.#ledger.submitted.add(name);
    const submit = () => client.call('submitJob', { text }).catch(() => null);
    const job = await until('another one to lead', submit, PATIENCE);
    this.#ledger.add({ what: 'job', name, id: job.id, text });
    await client.close();
  }

  async #compare(when: string, comparison: Comparison): Promise<void> {
    this.#faults.push(...(await comparison.make()).map((fault) => `${when}: ${fault}`));
  }

  /** Nobody submits any more; everything that was accepted comes to its end. */
  async #end(line: Line, load: Promise<unknown>, comparison: Comparison): Promise<void> {
    line.shut();
    await until('all jobs to end', () => allEnded(line), 900);
    const [last] = await line.persist(() => line.client.call('listEvents', { query: { limit: 1 } }));
    await until('the last event to be followed', () => this.#followed >= (last?.id ?? 0), PATIENCE);
    line.dismiss();
    await load;
    await this.#compare('at the end', comparison);
  }
}

async function allEnded(line: Line): Promise<boolean> {
  const stats = await line.persist(() => line.client.call('getStats'));
  const { queued = 0, running = 0, cancelling = 0 } = stats.jobs_by_status as Record<string, number>;
  return queued + running + cancelling === 0;
}
