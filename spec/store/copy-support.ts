import type { TestContext } from 'node:test';
import { tablesOf } from '../../actors/server/copy/copied-tables.ts';
import { job, TestCluster } from '../support/cluster.ts';
import { openAt } from './drivers.ts';

/** All rows of a store, by their tables. */
export async function rowsOf(place: string): Promise<Record<string, unknown>> {
  const store = await openAt(place);
  try {
    const rows: Record<string, unknown> = {};
    for (const { name, columns, key } of await tablesOf(store.reader))
      rows[name] = await store.reader.all(
        `SELECT ${[...columns].sort().join(', ')} FROM ${name} ORDER BY ${key.join(', ')}`,
      );
    return rows;
  } finally {
    await store.close();
  }
}

/** A store in the middle of its work, with every kind of value in it. */
export async function busyStore(t: TestContext) {
  const cluster = await TestCluster.start(t);
  const pipelines = Array.from({ length: 150 }, (_, i) => ({
    kind: 'inline_json',
    inline: { i, text: 'ü\0"\\' },
  }));
  const { id } = await cluster.submit(
    job({ pipeline: undefined, pipelines, name: 'Größe\0 "x"', tags: ['a', 'b'] }),
  );
  await cluster.submit(job({ idempotency_key: 'k', priority: 3 }));
  const worker = await cluster.register({ slots_total: 4, labels: { site: 'ü' } });
  for (const [i, task] of (await worker.lease(4)).entries()) {
    await worker.start(task);
    if (i === 1) await worker.fail(task, { error: 'no\0\n', retriable: true });
    if (i === 2) await worker.complete(task, { metrics: { best_rmse: 0.1 + 0.2, r2: 5e-324 } });
  }
  await cluster.stop();
  return { cluster, id };
}
