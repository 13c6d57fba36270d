import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import type { Candidate } from '../candidate.ts';
import { OutcomeUnknown, StoreFault } from '../fault.ts';
import type { Queries } from '../sql.ts';
import type { Database } from './connect.ts';
import { assertNotSuperseded, beginEpoch, EpochOver } from './epochs.ts';
import { asStoreFault, breaksConnection } from './faults.ts';
import { TURNS, takeLock, WAITS } from './lock.ts';
import { assertDurable } from './migrate.ts';
import { noteLeader, Presence, resign } from './presence.ts';
import { destroy, untilSilent, unwarned } from './sessions.ts';
import { standBy } from './stand-by.ts';

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

/**
 * Writes along the index, with the plan that was made at first, however few rows there were then; one who goes away is noticed by
 * the database.
 */
export const WRITING = {
  jit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '3',
};

/** Milliseconds for which a server that starts waits for the end of another one. */
const PATIENCE_MS = 3000;
/** Milliseconds between two tries to connect, the first and the longest. */
const RETRY_MS = { first: 50, longest: 1000 };

/**
 * The sessions through which a server that leads writes its turns, one after the other: each has an epoch of its own, so that whatever was sent through an earlier
 * one and is still on its way writes nothing.
 */
export class TurnSessions {
  readonly #database: Database;
  readonly #candidate: Candidate | undefined;
  readonly #beforeRenewal: (() => Promise<void>) | undefined;
  readonly #server = randomUUID();
  readonly #presence: Presence;
  #session: Leading | null = null;
  /** Of the last session that there was. */
  #before: { epoch: number; pid: number } | null = null;
  /** The session that is being made. */
  #connecting: Promise<number | null> | null = null;
  /** Whether something is being written: if its session breaks, it finds out itself what became of it. */
  #isWriting = false;
  #superseded: EpochOver | null = null;
  #isInDoubt = false;
  #isEnding = false;
  #hasResigned = false;

  private constructor(
    database: Database,
    candidate: Candidate | undefined,
    beforeRenewal: (() => Promise<void>) | undefined,
  ) {
    this.#beforeRenewal = beforeRenewal;
    this.#database = database;
    this.#candidate = candidate;
    this.#presence = new Presence(database, this.#server, candidate);
  }

  /**
   * @param prepare what is done with the store before its epoch begins, when nobody else has it
   * @param candidate who waits for the store while another server has it; where it is left out, nobody does
   * @param beforeRenewal see `StoreHooks`
   * @throws StartError `state_in_use`
   */
  static async begin(
    database: Database,
    prepare: (client: Client) => Promise<void>,
    candidate?: Candidate,
    beforeRenewal?: () => Promise<void>,
  ): Promise<TurnSessions> {
    const turns = new TurnSessions(database, candidate, beforeRenewal);
    try {
      if (candidate) await turns.#leadInTurn(candidate, prepare);
      else await turns.#lead(await turns.#locked(), prepare);
    } catch (fault) {
      await turns.#presence.stop();
      throw fault;
    }
    await turns.#presence.leads((other) => turns.#noticeEnd(new EpochOver(other)));
    return turns;
  }

  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /** Whether no other server has begun an epoch. One may do so while the answer is on its way. */
  async leads(queries: Queries): Promise<boolean> {
    const reign = await queries.get<{ server: string }>('SELECT server FROM reign');
    return this.#superseded === null && !this.#hasResigned && reign?.server === this.#server;
  }

  /**
   * Has a turn written.
   * @param write writes it with its number, in one transaction, or rejects
   * @throws StoreFault; then nothing happened, unless it is an OutcomeUnknown
   */
  async commit(write: (session: Session, turn: number) => Promise<void>): Promise<void> {
    await this.#writing(async (session) => {
      const turn = ++session.turn;
      try {
        await untilSilent(
          session.client,
          unwarned(session.client, () => write(session, turn)),
        );
      } catch (fault) {
        this.#noticeEnd(fault);
        if (!breaksConnection(fault)) throw asStoreFault(fault);
        this.#lose();
        if (!(await this.#hasHappened(turn))) throw asStoreFault(fault);
      }
    });
  }

  /**
   * Does something that nobody has to know the outcome of.
   * @throws StoreFault
   */
  async attempt(work: (session: Session, turn: number) => Promise<void>): Promise<void> {
    await this.#writing(async (session) => {
      try {
        await untilSilent(session.client, work(session, session.turn));
      } catch (fault) {
        this.#noticeEnd(fault);
        if (breaksConnection(fault)) this.#lose();
        throw asStoreFault(fault);
      }
    });
  }

  /** Another server may lead from now on: this one writes nothing any more. Idempotent. */
  async resign(): Promise<void> {
    this.end();
    this.#hasResigned = true;
    this.#presence.resigns();
    await this.#connecting?.catch(() => {});
    const session = this.#session;
    this.#session = null;
    if (session) await resign(session.client).catch(() => {});
    await session?.client.end().catch(() => {});
  }

  /** Nobody waits any longer for an outcome that is not known. */
  end(): void {
    this.#isEnding = true;
  }

  async close(): Promise<void> {
    await this.resign();
    await this.#presence.stop();
  }

  async #writing(work: (session: Leading) => Promise<void>): Promise<void> {
    this.#isWriting = true;
    try {
      await work(await this.#present());
    } finally {
      this.#isWriting = false;
      if (this.#session === null) void this.#renew();
    }
  }

  /**
   * A session that has ended is followed by another one at once, and not by the next turn: whoever waits for the lock would
   * take over from a server that is well. Where that one was faster, its epoch decides.
   */
  async #renew(): Promise<void> {
    await this.#beforeRenewal?.();
    for (let wait = RETRY_MS.first; this.#isWithout; wait = Math.min(2 * wait, RETRY_MS.longest)) {
      await this.#connect().catch((fault) => this.#noticeEnd(fault));
      if (this.#isWithout) await pause(wait, undefined, { ref: false });
    }
  }

  /** Whether a session is missing, and nobody else sees to it. */
  get #isWithout(): boolean {
    return this.#session === null && !this.#isWriting && !this.#hasResigned && this.#superseded === null;
  }

  async #present(): Promise<Leading> {
    if (this.#superseded) throw this.#superseded;
    if (this.#hasResigned) throw new StoreFault('this server does not lead any more');
    // What was begun before may have found the database away.
    if (this.#session === null) await this.#connecting?.catch(() => {});
    if (this.#session === null) {
      try {
        await this.#connect();
      } catch (fault) {
        this.#noticeEnd(fault);
        throw asUnreachable(fault);
      }
    }
    return this.#session as Leading;
  }

  /** @returns the last turn of the epoch before */
  #connect(): Promise<number | null> {
    this.#connecting ??= this.#locked()
      .then((client) => this.#lead(client, () => assertDurable(client, this.#database.place)))
      .finally(() => {
        this.#connecting = null;
      });
    return this.#connecting;
  }

  /** A session that has the lock. */
  async #locked(): Promise<Client> {
    const client = await this.#database.connect(TURNS, WRITING);
    try {
      const before = this.#before;
      if (before !== null) await assertNotSuperseded(client, this.#server, before.epoch);
      await takeLock(client, PATIENCE_MS, before?.pid ?? null);
      return client;
    } catch (fault) {
      client.end().catch(() => {});
      throw fault;
    }
  }

  /** Leads once nobody else has the lock. A database that goes away meanwhile is waited for, until the epoch has begun. */
  async #leadInTurn(candidate: Candidate, prepare: (client: Client) => Promise<void>): Promise<void> {
    for (let hasStoodBy = false; ; ) {
      let client: Client | null = null;
      try {
        client = await this.#database.connect(WAITS, WRITING);
        await standBy(client, {
          givesUp: candidate.givesUp,
          leaderSeen: (leader) => {
            hasStoodBy = true;
            candidate.leaderSeen(leader);
          },
        });
        await client.query(`SET application_name = '${TURNS}'`);
        candidate.storeTaken();
        await this.#lead(client, prepare);
        return;
      } catch (fault) {
        if (client) destroy(client);
        const isPassing = breaksConnection(fault) && !(fault instanceof StartError);
        if (candidate.givesUp.aborted || !hasStoodBy || !isPassing) throw fault;
      }
      await pause(RETRY_MS.longest, undefined, { signal: candidate.givesUp });
    }
  }

  /** Begins an epoch, through a session that has the lock. */
  async #lead(client: Client, prepare: (client: Client) => Promise<void>): Promise<number | null> {
    try {
      const note = () => noteLeader(client, this.#server, this.#candidate?.address ?? null);
      // Before the store is prepared, and after: until then there may be no place for it.
      await note();
      await prepare(client);
      await note();
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      const before = this.#before?.epoch ?? null;
      const { epoch, lastTurn } = await unwarned(client, () => beginEpoch(client, this.#server, before));
      const session = { client, epoch, turn: 0, pid: (rows[0] as { pid: number }).pid };
      this.#session = session;
      this.#before = session;
      client.once('end', () => {
        if (this.#session !== session) return;
        this.#session = null;
        void this.#renew();
      });
      return lastTurn;
    } catch (fault) {
      client.end().catch(() => {});
      throw fault;
    }
  }

  /** Whoever has been superseded stays so. */
  #noticeEnd(fault: unknown): void {
    if (!(fault instanceof EpochOver) || this.#superseded) return;
    this.#superseded = fault;
    this.#candidate?.epochOver(fault.leader);
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
          return (await this.#connect()) === turn;
        } catch (fault) {
          if (fault instanceof EpochOver) {
            this.#noticeEnd(fault);
            return fault.lastTurn === turn;
          }
        }
        await pause(wait);
      }
      throw new OutcomeUnknown();
    } finally {
      this.#isInDoubt = false;
    }
  }
}

const asUnreachable = (fault: unknown): unknown =>
  fault instanceof StoreFault ? fault : new StoreFault((fault as Error).message, { cause: fault });
