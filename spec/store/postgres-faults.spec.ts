import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EVENTS } from '../../actors/server/store/tables.ts';
import type { Cut } from '../support/cutting-proxy.ts';
import { requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { aside, LARGE, MARK, opened, settled, turnOf } from './postgres-support.ts';

describe('a connection to PostgreSQL that breaks', requires('postgresql'), () => {
  const ends: Record<Exclude<Cut, 'during'>, string> = { before: 'STORE_FAULT', after: 'written' };
  for (const [size, what, mark] of [
    [1, 'in one statement', MARK],
    [LARGE, 'in parts', 'COMMIT'],
  ] as const) {
    for (const when of ['before', 'after'] as const) {
      test(`${when} a turn ${what} is written: it is found out that it was ${when === 'after' ? '' : 'not '}written`, async (t) => {
        const { store, proxy, count } = await opened(t);
        const cut = proxy.cut(when, mark);
        assert.equal(await settled(store.commit(turnOf(size))), ends[when]);
        await cut;
        assert.equal(await count(), when === 'after' ? size : 0);
        // And what is committed next is written once.
        await store.commit(turnOf(3, LARGE + 1));
        assert.equal(await count(), (when === 'after' ? size : 0) + 3);
      });
    }

    test(`while a turn ${what} is being written: what is still on its way is not written later either`, async (t) => {
      const { store, proxy, address, count } = await opened(t);
      const [other, watcher] = [await aside(t, address), await aside(t, address)];
      await other.query('BEGIN; SELECT FROM reign FOR UPDATE');
      const cut = proxy.cut('during', size === 1 ? MARK : 'UPDATE reign');
      const commit = settled(store.commit(turnOf(size)));
      await cut;
      // The session that was cut off is gone, and the next one waits to be told what it left.
      await until('the next session', async () => {
        const { rows } = await watcher.query<{ waits: number }>(
          "SELECT query LIKE 'SELECT epoch%' AND wait_event_type = 'Lock' AS waits FROM pg_stat_activity WHERE application_name = 'jq-server: turns' AND datname = current_database()",
        );
        return rows.length === 1 && rows[0]?.waits === 1;
      });
      assert.equal(store.isInDoubt, true);
      await other.query('ROLLBACK');
      assert.equal(await commit, 'STORE_FAULT');
      assert.equal(await count(), 0);
      await store.commit(turnOf(1));
      assert.equal(await count(), 1);
    });
  }

  test('at any time: a turn is there exactly if it is said to be', async (t) => {
    const { store, proxy } = await opened(t);
    const said: number[] = [];
    for (let id = 1; id <= 30; id++) {
      const ms = (id * 7) % 10;
      const timer = setTimeout(() => proxy.cutAll(), ms);
      if ((await settled(store.commit(turnOf(1, id)))) === 'written') said.push(id);
      clearTimeout(timer);
    }
    const stored = await store.load(EVENTS, 'true ORDER BY id');
    assert.deepEqual(
      stored.map(({ id }) => id),
      said,
    );
    assert.ok(said.length > 0);
  });

  test('leaves a turn in doubt until the database is reached again, and nothing is accepted meanwhile', async (t) => {
    const { store, proxy, count } = await opened(t);
    const cut = proxy.cut('after', MARK);
    const commit = settled(store.commit(turnOf(1)));
    await cut;
    proxy.refuses = true;
    proxy.cutAll();
    await until('the doubt', () => store.isInDoubt);
    proxy.refuses = false;
    assert.equal(await commit, 'written');
    assert.deepEqual([store.isInDoubt, await count()], [false, 1]);
  });

  test('for good: who waits for the outcome is told that it is not known once the server goes down', async (t) => {
    const { store, proxy } = await opened(t);
    const cut = proxy.cut('after', MARK);
    const commit = store.commit(turnOf(1));
    commit.catch(() => {});
    proxy.refuses = true;
    await cut;
    await until('the doubt', () => store.isInDoubt);
    store.endDoubt();
    await assert.rejects(commit, { code: 'STORE_FAULT', message: /before it was known/ });
  });

  test('between two turns costs none of them', async (t) => {
    const { store, proxy, count } = await opened(t);
    await store.commit(turnOf(1));
    proxy.cutAll();
    // Its end may not have been noticed yet: then this one is refused, and nothing of it happened.
    const second = await settled(store.commit(turnOf(1, 2)));
    assert.equal(await count(), second === 'written' ? 2 : 1);
    await store.commit(turnOf(1, 3));
  });

  test('while the database is away: turns are refused, reads say so, and both go on once it is back', async (t) => {
    const { store, proxy, count } = await opened(t);
    await store.commit(turnOf(1));
    proxy.refuses = true;
    proxy.cutAll();
    await assert.rejects(store.probe(), { code: 'STORE_FAULT' });
    await assert.rejects(store.commit(turnOf(1, 2)), { code: 'STORE_FAULT' });
    await assert.rejects(store.queries.get('SELECT 1 AS one'), { code: 'store_unavailable' });
    proxy.refuses = false;
    // One that is refused just now may be under way.
    const isThere = () =>
      store.probe().then(
        () => true,
        () => false,
      );
    await until('the database to be there again', isThere);
    await store.commit(turnOf(1, 3));
    assert.equal(await count(), 2);
  });

  test('since its process was killed, with all others of the database: nothing that was answered is lost', async (t) => {
    const { store, address } = await opened(t);
    const said: number[] = [];
    let isOver = false;
    const writing = (async () => {
      for (let id = 1; !isOver; id++)
        if ((await settled(store.commit(turnOf(1, id)))) === 'written') said.push(id);
    })();
    await until('some turns', () => said.length > 5);
    const other = await aside(t, address);
    const { rows } = await other.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'jq-server: turns' AND datname = current_database()",
    );
    process.kill((rows[0] as { pid: number }).pid, 'SIGKILL');
    const before = said.length;
    await until('turns after that', () => said.length > before + 20);
    isOver = true;
    await writing;
    const stored = await store.load(EVENTS, 'true ORDER BY id');
    assert.deepEqual(
      stored.map(({ id }) => id),
      said,
    );
  });
});
