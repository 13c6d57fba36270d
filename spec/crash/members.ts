import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { Database } from '../../actors/server/store/postgres/connect.ts';
import type { LinkState } from '../support/faulty-link.ts';
import { Links } from '../support/links.ts';
import type { PostgresPair } from '../support/postgres-pair.ts';
import { type Program, quietPort } from '../support/program.ts';
import { startServerProgram } from '../support/server-program.ts';

/** How a server ends that has been superseded. */
export const SUPERSEDED = 75;

/** One of several servers on one database. */
export interface Member {
  readonly state: string;
  readonly port: number;
  readonly url: string;
  /** Its own ways to both servers of PostgreSQL: the ports at which they begin, by those to which they lead. */
  readonly ways: ReadonlyMap<number, number>;
  readonly store: string;
  program: Program;
}

/** Servers on one database, each with ways of its own to the primary and to its replica. */
export class Members {
  readonly #folder: string;
  readonly #pair: PostgresPair;
  readonly #database: string;
  readonly #all: Member[] = [];
  readonly #pool: Pool;
  readonly #links = new Links();

  private constructor(folder: string, pair: PostgresPair, database: string, pool: Pool) {
    this.#folder = folder;
    this.#pair = pair;
    this.#database = database;
    this.#pool = pool;
  }

  /** @param folder an empty directory of their own */
  static async start(folder: string, count: number, pair: PostgresPair): Promise<Members> {
    const database = await pair.database();
    const pool = (await Database.at(addressOf(pair.ports, database))).pool('specification', 1, {});
    const members = new Members(folder, pair, database, pool);
    try {
      for (let n = 0; n < count; n++) members.#all.push(await members.#begin(n));
    } catch (fault) {
      await members.stop();
      throw fault;
    }
    return members;
  }

  /** The addresses of all of them, or of all others than this one, as clients take them. */
  urls(than: Member | null = null): string {
    const others = this.#all.filter((member) => member !== than);
    return others.map(({ url }) => url).join(',');
  }

  /** The state directory that has the bytes of artifacts; the others lead there, as to a disk that all have. */
  get shared(): string {
    return join(this.#folder, 'server-0');
  }

  /** Where their rows are, past their own ways to it. */
  get store(): string {
    return addressOf(this.#pair.ports, this.#database);
  }

  /** The one that leads: its process is named in the row of the reign, and it says that it is ready. */
  async leader(): Promise<Member | undefined> {
    try {
      const { rows } = await this.#pool.query<{ place: string }>('SELECT place FROM reign');
      const pid = Number(/process (\d+)$/.exec(rows[0]?.place ?? '')?.[1]);
      const leader = this.#all.find(({ program }) => program.pid === pid && !program.over);
      return leader && (await isReady(leader)) ? leader : undefined;
    } catch {
      // The database is on its way from one place to the other.
      return undefined;
    }
  }

  /** What becomes from now on of all that a server and its database say to each other. */
  setWays({ ways }: Member, state: LinkState): Promise<void> {
    return this.#links.set([...ways.values()], state);
  }

  /** The same of all that any of them and one server of PostgreSQL say to each other. */
  setWaysTo(port: number, state: LinkState): Promise<void> {
    const ways = this.#all.map(({ ways }) => ways.get(port) as number);
    return this.#links.set(ways, state);
  }

  /** Starts those again that have ended. @returns what is wrong with how they did so */
  async startEnded(): Promise<string[]> {
    const faults: string[] = [];
    for (const member of this.#all.filter(({ program }) => program.over)) {
      const { code, signal } = await member.program.ended;
      if (code !== SUPERSEDED && signal !== 'SIGKILL')
        faults.push(`${member.url} ended with ${code}: ${member.program.stderr}`);
      member.program = await this.#launch(member);
    }
    return faults;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map(({ program }) => program.kill()));
    await this.#links.close();
    await this.#pool.end();
  }

  async #begin(n: number): Promise<Member> {
    const state = join(this.#folder, `server-${n}`);
    const objects = join(this.shared, 'objects');
    mkdirSync(state, { recursive: true });
    mkdirSync(objects, { recursive: true });
    if (n > 0) symlinkSync(objects, join(state, 'objects'));
    const ways = new Map<number, number>();
    for (const upstream of this.#pair.ports) ways.set(upstream, await this.#links.to(upstream));
    const port = await quietPort();
    const store = addressOf([...ways.values()], this.#database);
    const member = { state, port, url: `http://127.0.0.1:${port}`, ways, store };
    return { ...member, program: await this.#launch(member) };
  }

  #launch({ state, port, store }: Omit<Member, 'program'>): Promise<Program> {
    const periods = { leaseTtl: 4, heartbeatInterval: 1, workerDeadAfter: 3 };
    return startServerProgram({ state, port, store, ...periods });
  }
}

const addressOf = (ports: readonly number[], database: string): string =>
  `postgres://jq@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${database}?target_session_attrs=read-write`;

async function isReady({ url }: Member): Promise<boolean> {
  const { ok } = await fetch(`${url}/readyz`);
  return ok;
}
