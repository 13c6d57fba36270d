import type { Candidate } from './candidate.ts';
import { isPostgresAddress } from './postgres/connect.ts';
import { SqliteStore } from './sqlite-store.ts';
import type { Store, StoreHooks } from './store.ts';
import { asWhole } from './unfinished.ts';

/**
 * Opens the store of a server.
 * @param address `postgres://…`; where it is left out, the store is a file in the state directory
 * @param candidate who waits for it while another server has it; where it is left out, that is refused
 * @throws StartError when it cannot be used
 */
export async function openStore(
  stateDir: string,
  address: string | undefined,
  hooks?: StoreHooks | undefined,
  candidate?: Candidate | undefined,
): Promise<Store> {
  if (address === undefined || !isPostgresAddress(address)) {
    const store = await asWhole(await SqliteStore.open(stateDir, hooks));
    candidate?.storeTaken();
    return store;
  }
  // Loaded only here: nobody else needs the driver.
  const { PostgresStore } = await import('./postgres/postgres-store.ts');
  return asWhole(await PostgresStore.open(address, hooks, candidate));
}
