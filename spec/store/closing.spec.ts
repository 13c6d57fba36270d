import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SqliteStore } from '../../actors/server/store/sqlite-store.ts';
import { temporaryDirectory } from '../support/server.ts';

/** Sends one query after the other, each with a text that is new to the store, until one is refused. */
async function askOn(store: SqliteStore, reader: number): Promise<{ answers: number; fault: unknown }> {
  for (let answers = 0; answers < 10_000; answers++) {
    try {
      await store.queries.get(`SELECT ${reader} AS reader, ${answers} AS answers`);
    } catch (fault) {
      return { answers, fault };
    }
  }
  return { answers: 10_000, fault: 'it was never refused' };
}

describe('a store that is closed while somebody reads', () => {
  test('closes nevertheless, and refuses further reads', async (t) => {
    for (let round = 0; round < 5; round++) {
      const store = await SqliteStore.open(await temporaryDirectory(t));
      const asking = Array.from({ length: 8 }, (_, reader) => askOn(store, reader));
      await store.queries.get('SELECT 1');
      await store.close();
      for (const { fault } of await Promise.all(asking)) assert.ok(fault instanceof Error, `${fault}`);
      await assert.rejects(store.queries.get('SELECT 1'), { message: 'the store is closed' });
    }
  });
});
