import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openReader } from '../../actors/server/store/open.ts';
import { withWorker } from '../support/cluster.ts';

test('every commit keeps the counts of actors by status, so that a start need not count', async (t) => {
  const { cluster, worker } = await withWorker(t, { slots_total: 2 });
  const { id } = await cluster.submit();
  for (let i = 0; i < 3; i++) await cluster.submit();
  await worker.complete(await worker.run());
  await worker.run();
  await cluster.cancel(id);

  const db = await openReader(`${cluster.stateDir}/store.sqlite`);
  t.after(() => db.close());
  const kept = await db.get<Record<string, string>>('SELECT jobs, tasks, workers FROM tally');
  for (const table of ['jobs', 'tasks', 'workers']) {
    const counted = await db.all<{ status: string; n: number }[]>(
      `SELECT status, COUNT(*) AS n FROM ${table} GROUP BY status ORDER BY status`,
    );
    const nonzero = Object.entries(JSON.parse(kept?.[table] as string)).filter(([, n]) => n !== 0);
    assert.deepEqual(
      Object.fromEntries(nonzero),
      Object.fromEntries(counted.map(({ status, n }) => [status, n])),
    );
  }
  const before = await cluster.port.reads.stats();
  await cluster.restart();
  assert.deepEqual(await cluster.port.reads.stats(), before);
});
