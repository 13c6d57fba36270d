import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Client } from 'pg';
import { Database } from '../../actors/server/store/postgres/connect.ts';
import { PostgresStore } from '../../actors/server/store/postgres/postgres-store.ts';
import { storeOf } from './test-store.ts';

/** A store that nothing was ever recorded in, as far as anybody can see. */
export interface SpareStore {
  /** Where it is, for `--store`; undefined: in the state directory. */
  readonly address: string | undefined;
  /** For the next one: nobody has it open any more. */
  giveBack(): void;
}

/** What a new store has in its tables, which says nothing of what happened in it. */
const KEEP = `DO $$ DECLARE name text; has_rows boolean; BEGIN
  CREATE SCHEMA kept;
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO has_rows;
    IF has_rows THEN EXECUTE format('CREATE TABLE kept.%I AS TABLE public.%I', name, name); END IF;
  END LOOP;
END $$`;

/** All of its tables as they were; the numbers of reigns go on. */
const EMPTY = `DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('reign', 'past_reigns', 'schema_version') LOOP
    EXECUTE format('DELETE FROM public.%I', name);
    IF to_regclass(format('kept.%I', name)) IS NOT NULL THEN
      EXECUTE format('INSERT INTO public.%I SELECT * FROM kept.%I', name, name);
    END IF;
  END LOOP;
END $$`;

interface Known {
  address: string;
  client: Client;
}

const spare: Known[] = [];

/**
 * For runs with thousands of servers: a store in PostgreSQL that somebody else has done with is emptied, which takes a fraction of the time
 * in which one is made. In SQLite it lies in the state directory, which is each one's own.
 */
export async function spareStore(): Promise<SpareStore> {
  if (process.env.JQ_TEST_STORE === undefined) return { address: undefined, giveBack: () => {} };
  const known = spare.pop() ?? (await made());
  const socket = socketOf(known.client);
  socket.ref();
  await known.client.query(EMPTY);
  // Whoever is done does not wait for it.
  socket.unref();
  return { address: known.address, giveBack: () => void spare.push(known) };
}

async function made(): Promise<Known> {
  const address = storeOf(randomUUID()) as string;
  await (await PostgresStore.open(address)).close();
  const client = await (await Database.at(address)).connect('specification', {});
  await client.query(KEEP);
  return { address, client };
}

const socketOf = (client: Client): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;
