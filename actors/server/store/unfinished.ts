import { StartError } from '../../../machines/protocol/start-error.ts';
import type { Statement } from './changes.ts';
import type { Queries } from './sql.ts';
import type { Store } from './store.ts';

/* A store that rows are still copied into says so in itself, in a row of `numbers`, so that no server takes it for whole. */

/** Before the place that rows come from. */
const MARK = 'copy of ';

/** SQL: which rows of `numbers` are none of a mark. */
export const NO_MARK = `name NOT LIKE '${MARK}%'`;

export const mark = (place: string): Statement => ({
  sql: 'INSERT INTO numbers (name, last) VALUES (?, 0) ON CONFLICT (name) DO NOTHING',
  params: [`${MARK}${place}`],
});

export const unmark = (place: string): Statement => ({
  sql: 'DELETE FROM numbers WHERE name = ?',
  params: [`${MARK}${place}`],
});

/** The place that rows are still to come from; undefined where a store is whole. */
export async function unfinishedCopyOf(queries: Queries): Promise<string | undefined> {
  const row = await queries.get<{ name: string }>(`SELECT name FROM numbers WHERE NOT (${NO_MARK})`);
  return row?.name.slice(MARK.length);
}

/**
 * The same store, if it is whole.
 * @throws StartError `store_unreadable`; as of any other fault, it is closed then
 */
export async function asWhole(store: Store): Promise<Store> {
  try {
    const from = await unfinishedCopyOf(store.reader);
    if (from === undefined) return store;
    throw new StartError(
      'store_unreadable',
      `the store ${store.place} is a copy of ${from} that is not finished; go on with: jq-server copy`,
    );
  } catch (fault) {
    await store.close();
    throw store.faultAtStart(fault);
  }
}
