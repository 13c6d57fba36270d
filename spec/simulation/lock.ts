import type { Client, Pool } from 'pg';
import { Database } from '../../actors/server/store/postgres/connect.ts';
import { endSession, holderOf, TURNS, WAITS } from '../../actors/server/store/postgres/lock.ts';
import { PRESENCE } from '../../actors/server/store/postgres/presence.ts';

/** Sessions in which turns are written, by the numbers of their processes. */
const writing = new Map<number, Client>();

/** A server counts on in real time, which nothing here has: it always does, and hears nothing by it. */
const counting = { query: async () => ({ rowCount: 1, rows: [] }), end: async () => {} } as unknown as Pool;

let isWatched = false;

/** From now on the sessions of servers in this process are known. */
export function watchSessions(): void {
  if (isWatched) return;
  isWatched = true;
  const { connect, pool } = Database.prototype;
  Database.prototype.connect = async function (this: Database, name, settings) {
    const client = await connect.call(this, name, settings);
    if (name === TURNS || name === WAITS) keep(client);
    return client;
  };
  Database.prototype.pool = function (this: Database, name, max, settings) {
    return name.startsWith(PRESENCE) ? counting : pool.call(this, name, max, settings);
  };
}

function keep(client: Client): void {
  const { processID } = client as unknown as { processID: number };
  writing.set(processID, client);
  client.once('end', () => writing.delete(processID));
}

/**
 * The server that leads loses the lock of its store.
 * @param lives whether its session stands all the same, so that only its epoch is in the way of what it writes
 */
export async function takeLockFrom(store: string, lives: boolean): Promise<void> {
  const other = await (await Database.at(store)).connect('specification', {});
  try {
    const holder = await holderOf(other);
    if (holder === null) return;
    const session = lives ? writing.get(holder.pid) : undefined;
    await (session?.query('SELECT pg_advisory_unlock_all()') ?? endSession(other, holder));
  } finally {
    await other.end();
  }
}
