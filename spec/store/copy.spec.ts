import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkRows } from '../../actors/server/check/rows.ts';
import { copyStore } from '../../actors/server/copy/copy-store.ts';
import { mark } from '../../actors/server/store/unfinished.ts';
import { TestCluster } from '../support/cluster.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { busyStore, rowsOf } from './copy-support.ts';
import { drivers, emptyDatabase, openAt } from './drivers.ts';
import { nothing } from './row-support.ts';

const quiet = () => {};

test(
  'a store in the middle of its work is copied into PostgreSQL and back, row by row, and goes on there',
  requires('postgresql'),
  async (t) => {
    const { cluster, id } = await busyStore(t);
    const [there, back] = [await emptyDatabase(), await temporaryDirectory(t)];
    const first = await copyStore({ from: cluster.stateDir, to: there, onProgress: quiet });
    assert.ok(first.rows > 150 && first.written === first.rows, JSON.stringify(first));
    await copyStore({ from: there, to: back, onProgress: quiet });
    const rows = await rowsOf(cluster.stateDir);
    assert.deepEqual(await rowsOf(there), rows);
    assert.deepEqual(await rowsOf(back), rows);

    const next = await TestCluster.start(t, {}, there);
    assert.equal((await next.job(id)).aggregate.num_succeeded, 1);
    assert.equal((await next.seen.jobs({ name: 'größe', limit: 5 }))[0]?.id, id);
    const { id: submitted } = await next.submit();
    assert.equal((await next.job(submitted)).status, 'queued');

    const store = await openAt(back);
    t.after(() => store.close());
    assert.deepEqual(await checkRows(store.reader), []);
    const names = await store.reader.all('SELECT rowid FROM job_names WHERE job_names MATCH \'"größe"\'');
    assert.equal((names as unknown[]).length, 1);
  },
);

test(
  'a copy that was broken off goes on, and no server takes the store before it is whole',
  requires('postgresql'),
  async (t) => {
    const { cluster } = await busyStore(t);
    const there = await emptyDatabase();
    const broken = copyStore({
      ...{ from: cluster.stateDir, to: there },
      onProgress: (table) => {
        if (table === 'tasks') throw new Error('the power went');
      },
    });
    await assert.rejects(broken, { message: 'the power went' });
    await assert.rejects(TestCluster.start(t, {}, there), {
      code: 'store_unreadable',
      message: /is a copy of .*store\.sqlite that is not finished/,
    });
    const other = await busyStore(t);
    await assert.rejects(copyStore({ from: other.cluster.stateDir, to: there, onProgress: quiet }), {
      code: 'store_unreadable',
      message: /is a copy of .* that is not finished; empty it/,
    });
    const { rows, written } = await copyStore({ from: cluster.stateDir, to: there, onProgress: quiet });
    assert.ok(written > 0 && written < rows, `${written} of ${rows}`);
    assert.deepEqual(await rowsOf(there), await rowsOf(cluster.stateDir));
  },
);

for (const driver of drivers) {
  test(
    `a store in ${driver.name} that has rows of its own is no target, nor one that a server has`,
    driver.needing,
    async (t) => {
      const { cluster } = await busyStore(t);
      const place = await driver.place(t);
      const store = await place.open();
      const copy = () => copyStore({ from: cluster.stateDir, to: place.address, onProgress: quiet });
      if (driver.name === 'postgresql') await assert.rejects(copy(), { code: 'state_in_use' });
      const event = {
        sql: "INSERT INTO events (id, ts, level, type, message, data) VALUES (1, 1, 'info', 'log', '', '{}')",
        params: [],
      };
      await store.commit({ ...nothing(), further: [event] });
      await store.close();
      await assert.rejects(copy(), { code: 'store_unreadable', message: /has rows of its own/ });
    },
  );
}

test('rows that the target has too many are found out at the end', requires('postgresql'), async (t) => {
  const { cluster } = await busyStore(t);
  const there = await emptyDatabase();
  const source = await openAt(cluster.stateDir);
  const store = await openAt(there);
  const pause = { kind: 'all' as const, name: '', by: 'nobody', at: 1 };
  await store.commit({ ...nothing(), pauses: [pause], further: [mark(source.place)] });
  await Promise.all([store.close(), source.close()]);
  await assert.rejects(copyStore({ from: cluster.stateDir, to: there, onProgress: quiet }), {
    message: /of pauses 0 rows differ, and 1 are too many/,
  });
});
