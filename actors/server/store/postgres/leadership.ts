import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import type { Leader } from '../../../../machines/reign.ts';
import { PLACE } from '../../../shared/place.ts';
import { StoreFault } from '../fault.ts';

/* One session at a time leads: it holds a lock that ends with it, and has an epoch that every commit carries. */

/** Another server has the store: what this one writes is refused for good. */
export class EpochOver extends StoreFault {
  /** The last turn of the epoch that was lost; null where it is still the present one, or was never there. */
  readonly lastTurn: number | null;
  /** Who has it now; null where that is not known. */
  readonly leader: Leader | null;

  constructor(leader: Leader | null = null, lastTurn: number | null = null) {
    const who = leader && ` (${leader.place})`;
    super(`another server has taken the store over${who ?? ''}; this one cannot write any more`);
    this.leader = leader;
    this.lastTurn = lastTurn;
  }
}

/** The first number of the lock; the second one is that of the schema, so that several may lie in one database. */
const LOCK = 0x6a71;
const OF_SCHEMA = "hashtext(coalesce(current_schema(), ''))";

/** Milliseconds between two tries of the lock. */
const AGAIN_MS = 50;

/** Who has the lock. */
export interface Holder {
  pid: number;
  /** The machine that it asks from. */
  place: string | null;
  /** The name of its session. */
  session: string;
}

/** What the session is called that has the lock of a server, and writes its turns. */
export const TURNS = 'jq-server: turns';

/** What it is called as long as it stands by: it may have the lock for a moment, to look whether it is the other one's turn. */
export const WAITS = 'jq-server: stands by';

/**
 * Takes the lock that one server has.
 * @param patience milliseconds for which the end of another session is waited for: that of a server which was killed
 *   has to notice it
 * @param own number of the process of an earlier session of the same server, which is ended where it still has the lock
 * @throws StartError `state_in_use`
 */
export async function takeLock(client: Client, patience: number, own: number | null): Promise<void> {
  const until = performance.now() + patience;
  for (;;) {
    if (await tryLock(client)) return;
    const holder = await holderOf(client);
    if (holder !== null && holder.pid === own) await endSession(client, holder);
    else if (performance.now() >= until) {
      const who = holder?.place ? ` on ${holder.place}` : '';
      throw new StartError(
        'state_in_use',
        `the store is in use by another server${who}; stop that one, or choose another with --store`,
      );
    }
    await pause(AGAIN_MS);
  }
}

/** Takes the lock if nobody has it. */
export async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query(`SELECT pg_try_advisory_lock(${LOCK}, ${OF_SCHEMA}) AS taken`);
  return rows[0]?.taken === 1;
}

/** Gives the lock back that this session has. */
export async function releaseLock(client: Client): Promise<void> {
  await client.query(`SELECT pg_advisory_unlock(${LOCK}, ${OF_SCHEMA})`);
}

/** Ends another session, and with it all that it has not committed. */
export async function endSession(client: Client, { pid }: Pick<Holder, 'pid'>): Promise<void> {
  await client.query('SELECT pg_terminate_backend($1)', [pid]);
}

export async function holderOf(client: Client): Promise<Holder | null> {
  const { rows } = await client.query<Holder>(
    `SELECT a.pid, coalesce(host(a.client_addr), 'the same machine') AS place, a.application_name AS session
     FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = ${LOCK}
       AND l.objid::bigint = (${OF_SCHEMA}::bigint & 4294967295)
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0] ?? null;
}

interface ReignRow {
  epoch: number;
  turn: number;
  server: string;
  place: string;
}

/**
 * Begins an epoch, after which nobody with an earlier one can write.
 * @param server what this start of the program is known by
 * @param before the epoch that it had; null at its start, when whoever had one has lost it
 * @returns the epoch, and the last turn of the one that it had
 * @throws EpochOver
 */
export async function beginEpoch(
  client: Client,
  server: string,
  before: number | null,
): Promise<{ epoch: number; lastTurn: number | null }> {
  await client.query('BEGIN');
  try {
    // Waits for a turn that is just being written.
    const reign = await reignOf(client, 'FOR UPDATE');
    if (before !== null) await assertOwn(client, reign, server, before);
    const now = Date.now() / 1000;
    await client.query(
      'INSERT INTO past_reigns (epoch, turn, since, until, server, place) SELECT epoch, turn, since, $1, server, place FROM reign',
      [now],
    );
    await client.query('UPDATE reign SET epoch = epoch + 1, turn = 0, since = $1, server = $2, place = $3', [
      now,
      server,
      PLACE,
    ]);
    const lastTurn = before === null ? null : await lastTurnOf(client, before);
    await client.query('COMMIT');
    return { epoch: reign.epoch + 1, lastTurn };
  } catch (fault) {
    await client.query('ROLLBACK').catch(() => {});
    throw fault;
  }
}

/**
 * Whether nobody else has begun an epoch since.
 * @throws EpochOver
 */
export async function assertNotSuperseded(client: Client, server: string, before: number): Promise<void> {
  await assertOwn(client, await reignOf(client), server, before);
}

async function assertOwn(client: Client, reign: ReignRow, server: string, before: number): Promise<void> {
  if (reign.server !== server)
    throw new EpochOver({ place: reign.place, address: null }, await lastTurnOf(client, before));
}

async function reignOf(client: Client, locked = ''): Promise<ReignRow> {
  const { rows } = await client.query<ReignRow>(`SELECT epoch, turn, server, place FROM reign ${locked}`);
  if (rows[0] === undefined)
    throw new StoreFault('the store does not say who writes: its table of reigns is empty');
  return rows[0];
}

/** Of an epoch that has ended. */
async function lastTurnOf(client: Client, epoch: number): Promise<number | null> {
  const { rows } = await client.query<{ turn: number }>('SELECT turn FROM past_reigns WHERE epoch = $1', [
    epoch,
  ]);
  return rows[0]?.turn ?? null;
}
