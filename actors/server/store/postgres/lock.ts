import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import { FORBIDDEN, stateOf } from './faults.ts';

/* One session at a time leads: it holds a lock that ends with it. */

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
        `the store is in use by another server${who}; stop that one first`,
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

/**
 * Ends another session, and with it all that it has not committed.
 * @throws StartError `store_unreadable` where that is the session of another role
 */
export async function endSession(client: Client, { pid }: Pick<Holder, 'pid'>): Promise<void> {
  try {
    await client.query('SELECT pg_terminate_backend($1)', [pid]);
  } catch (fault) {
    if (stateOf(fault) !== FORBIDDEN) throw fault;
    throw new StartError(
      'store_unreadable',
      `cannot take over from a server that says nothing: ${(fault as Error).message}; have all servers come as the same role`,
    );
  }
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
