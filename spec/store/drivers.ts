import { randomBytes } from 'node:crypto';
import { after, type TestContext } from 'node:test';
import { PostgresStore } from '../../actors/server/store/postgres/postgres-store.ts';
import { SqliteStore } from '../../actors/server/store/sqlite-store.ts';
import type { Store, StoreHooks } from '../../actors/server/store/store.ts';
import { type PostgresCluster, postgresCluster } from '../support/postgres.ts';
import { type Needing, requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';

/** A place for a store, empty at first. */
export interface Place {
  /** What the store is opened with by itself, in another process too. */
  readonly address: string;
  /** Opens it; it is closed when the test ends, if it is not before. */
  open(hooks?: StoreHooks): Promise<Store>;
}

/** What a store may be kept in. */
export interface Driver {
  readonly name: 'sqlite' | 'postgresql';
  readonly needing: Needing;
  place(t: TestContext): Promise<Place>;
  /** What `--store` says for a new store; undefined: nothing, it lies in the state directory. */
  store(): Promise<string | undefined>;
}

/** Opens a store by its address. */
export const openAt = (address: string, hooks?: StoreHooks): Promise<Store> =>
  address.startsWith('postgres://') ? PostgresStore.open(address, hooks) : SqliteStore.open(address, hooks);

/** The same for a test, at whose end it is closed if it is not before. */
export async function storeAt(t: TestContext, address: string, hooks?: StoreHooks): Promise<Store> {
  const store = await openAt(address, hooks);
  let closed: Promise<void> | null = null;
  const close = store.close.bind(store);
  store.close = () => {
    closed ??= close();
    return closed;
  };
  t.after(() => store.close());
  return store;
}

const placeAt = (t: TestContext, address: string): Place => ({
  address,
  open: (hooks) => storeAt(t, address, hooks),
});

let cluster: Promise<PostgresCluster> | null = null;

/** The PostgreSQL of this file, started with the first test that asks for it. */
export function postgres(): Promise<PostgresCluster> {
  // After a crash it would look at every file by itself.
  cluster ??= postgresCluster({ recovery_init_sync_method: 'syncfs' });
  return cluster;
}

after(async () => {
  await (await cluster?.catch(() => null))?.stop();
});

let template: Promise<string> | null = null;

/** A database in which the migrations have been applied, as a new one is copied from it. */
async function migrated(): Promise<string> {
  const address = await (await postgres()).database();
  await (await PostgresStore.open(address)).close();
  return address;
}

/** A new database with an empty store. */
export async function emptyDatabase(): Promise<string> {
  template ??= migrated();
  const made = new URL(await template);
  const from = made.pathname.slice(1);
  const name = `jq_${randomBytes(6).toString('hex')}`;
  made.pathname = '/postgres';
  await (await postgres()).query(made.href, `CREATE DATABASE ${name} TEMPLATE ${from}`);
  made.pathname = `/${name}`;
  // Nor has a new one the id of another.
  await (await postgres()).query(made.href, 'UPDATE store_id SET id = gen_random_uuid()::text');
  return made.href;
}

export const drivers: readonly Driver[] = [
  {
    name: 'sqlite',
    needing: { skip: false },
    place: async (t) => placeAt(t, await temporaryDirectory(t)),
    store: async () => undefined,
  },
  {
    name: 'postgresql',
    needing: requires('postgresql'),
    place: async (t) => placeAt(t, await emptyDatabase()),
    store: emptyDatabase,
  },
];
