import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { StoreFault } from '../fault.ts';
import type { Database } from './connect.ts';
import { asStoreFault, breaksConnection } from './faults.ts';
import { assertNotSuperseded, beginEpoch, Superseded, takeLock } from './leadership.ts';

/** Where a turn is written: nothing else goes through this session meanwhile. */
export interface Session {
  readonly client: Client;
  readonly epoch: number;
}

interface Leading extends Session {
  /** Number of its process. */
  readonly pid: number;
  turn: number;
}

/** Writes along the index, with the plan that was made at first; one who goes away is noticed by the database. */
export const WRITING = {
  jit: 'off',
  enable_seqscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  default_transaction_isolation: 'read\\ committed',
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '3',
};

/** Milliseconds for which a server that starts waits for the end of another one. */
const PATIENCE_MS = 3000;
/** Milliseconds until a commit that is not answered is looked for on another connection. */
const SILENCE_MS = 30_000;
/** Milliseconds between two tries to connect, the first and the longest. */
const RETRY_MS = { first: 50, longest: 1000 };

/**
 * Leads, through one session after the other: each has an epoch of its own, so that whatever was sent through an earlier
 * one and is still on its way writes nothing.
 */
export class Leader {
  readonly #database: Database;
  readonly #server = randomUUID();
  #session: Leading | null = null;
  /** Of the last session that there was. */
  #before: { epoch: number; pid: number } | null = null;
  #superseded: Superseded | null = null;
  #isInDoubt = false;
  #isEnding = false;

  private constructor(database: Database) {
    this.#database = database;
  }

  /**
   * @param prepare what is done with the store before its epoch begins, when nobody else has it
   * @throws StartError `state_in_use`
   */
  static async begin(database: Database, prepare: (client: Client) => Promise<void>): Promise<Leader> {
    const leader = new Leader(database);
    await leader.#connect(prepare);
    return leader;
  }

  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /**
   * Has a turn written.
   * @param write writes it with its number, in one transaction, or rejects
   * @throws StoreFault; then nothing happened
   */
  async commit(write: (session: Session, turn: number) => Promise<void>): Promise<void> {
    const session = await this.#present();
    const turn = ++session.turn;
    try {
      await this.#untilSilent(session.client, write(session, turn));
    } catch (fault) {
      if (fault instanceof Superseded) this.#superseded = fault;
      if (!breaksConnection(fault)) throw asStoreFault(fault);
      this.#lose();
      if (!(await this.#hasHappened(turn))) throw asStoreFault(fault);
    }
  }

  /**
   * Does something that nobody has to know the outcome of.
   * @throws StoreFault
   */
  async attempt(work: (session: Session, turn: number) => Promise<void>): Promise<void> {
    const session = await this.#present();
    try {
      await this.#untilSilent(session.client, work(session, session.turn));
    } catch (fault) {
      if (fault instanceof Superseded) this.#superseded = fault;
      if (breaksConnection(fault)) this.#lose();
      throw asStoreFault(fault);
    }
  }

  /** Nobody waits any longer for an outcome that is not known. */
  end(): void {
    this.#isEnding = true;
  }

  async close(): Promise<void> {
    this.end();
    const session = this.#session;
    this.#session = null;
    await session?.client.end().catch(() => {});
  }

  async #present(): Promise<Leading> {
    if (this.#superseded) throw this.#superseded;
    if (this.#session === null) {
      try {
        await this.#connect(async () => {});
      } catch (fault) {
        if (fault instanceof Superseded) this.#superseded = fault;
        throw asUnreachable(fault);
      }
    }
    return this.#session as Leading;
  }

  /** @returns the last turn of the epoch before */
  async #connect(prepare: (client: Client) => Promise<void>): Promise<number | null> {
    const client = await this.#database.connect('jq-server: turns', WRITING);
    try {
      const before = this.#before;
      if (before !== null) await assertNotSuperseded(client, this.#server, before.epoch);
      await takeLock(client, PATIENCE_MS, before?.pid ?? null);
      await prepare(client);
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      const { epoch, lastTurn } = await beginEpoch(client, this.#server, before?.epoch ?? null);
      const session = { client, epoch, turn: 0, pid: (rows[0] as { pid: number }).pid };
      this.#session = session;
      this.#before = session;
      client.once('end', () => {
        if (this.#session === session) this.#session = null;
      });
      return lastTurn;
    } catch (fault) {
      client.end().catch(() => {});
      throw fault;
    }
  }

  #lose(): void {
    const session = this.#session;
    this.#session = null;
    // Whatever still comes through it is of no interest.
    if (session) destroy(session.client);
  }

  /** Finds out, however long that takes, whether a turn of the last epoch was written. */
  async #hasHappened(turn: number): Promise<boolean> {
    this.#isInDoubt = true;
    try {
      for (let wait = RETRY_MS.first; !this.#isEnding; wait = Math.min(2 * wait, RETRY_MS.longest)) {
        try {
          return (await this.#connect(async () => {})) === turn;
        } catch (fault) {
          if (fault instanceof Superseded) {
            this.#superseded = fault;
            return fault.lastTurn === turn;
          }
        }
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
      throw new StoreFault('the server ended before it was known whether the last turn was written');
    } finally {
      this.#isInDoubt = false;
    }
  }

  /** A connection that says nothing for long is taken for broken. */
  async #untilSilent<T>(client: Client, work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => destroy(client), SILENCE_MS);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  }
}

const asUnreachable = (fault: unknown): unknown =>
  fault instanceof StoreFault ? fault : new StoreFault((fault as Error).message, { cause: fault });

/** Ends a connection at once, whatever is under way; who waits for an answer is told so. */
function destroy(client: Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
