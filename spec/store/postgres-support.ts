import type { TestContext } from 'node:test';
import { Database } from '../../actors/server/store/postgres/connect.ts';
import type { EventRow } from '../../actors/server/store/rows.ts';
import type { Store } from '../../actors/server/store/store.ts';
import { EVENTS } from '../../actors/server/store/tables.ts';
import { type CuttingProxy, cuttingProxy } from '../support/cutting-proxy.ts';
import { emptyDatabase, postgres, storeAt } from './drivers.ts';
import { eventRow, nothing } from './row-support.ts';

/** By which a turn is known on its way. */
export const MARK = 'a turn on its way';
export const LARGE = 2500;

export const turnOf = (count: number, from = 1) => ({
  ...nothing(),
  events: Array.from({ length: count }, (_, i): EventRow => ({ ...eventRow, id: from + i, message: MARK })),
});

export interface Opened {
  store: Store;
  proxy: CuttingProxy;
  /** Of the database itself, past the proxy. */
  address: string;
  count(): Promise<number>;
}

export async function opened(t: TestContext): Promise<Opened> {
  const address = await emptyDatabase();
  const proxy = await cuttingProxy(t, (await postgres()).port);
  const through = new URL(address);
  through.port = `${proxy.port}`;
  const store = await storeAt(t, through.href);
  return { store, proxy, address, count: async () => (await store.load(EVENTS, 'true')).length };
}

/** A session beside the store's. */
export async function aside(t: TestContext, address: string) {
  const client = await (await Database.at(address)).connect('specification', {});
  t.after(() => client.end());
  return client;
}

export const settled = (promise: Promise<void>) =>
  promise.then(
    () => 'written' as const,
    (fault: Error & { code?: string }) => fault.code ?? fault.message,
  );
