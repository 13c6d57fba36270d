import { isPostgresAddress } from './postgres/connect.ts';
import { SqliteStore } from './sqlite-store.ts';
import type { Store, StoreHooks } from './store.ts';

/**
 * Opens the store of a server.
 * @param address `postgres://…`; where it is left out, the store is a file in the state directory
 * @throws StartError when it cannot be used
 */
export async function openStore(
  stateDir: string,
  address: string | undefined,
  hooks?: StoreHooks | undefined,
): Promise<Store> {
  if (address === undefined || !isPostgresAddress(address)) return SqliteStore.open(stateDir, hooks);
  // Loaded only here: nobody else needs the driver.
  const { PostgresStore } = await import('./postgres/postgres-store.ts');
  return PostgresStore.open(address, hooks);
}
