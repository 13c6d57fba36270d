import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { TYPES_SQL } from '../../actors/server/reads/job-heads.ts';
import { openReader } from '../../actors/server/store/open.ts';
import { textOf } from '../../actors/server/store/sql.ts';
import type { JobQuery } from '../../gateway/backend.ts';
import { job, TestCluster } from '../support/cluster.ts';

describe('the list of jobs of a kind', () => {
  test('is of those that run, or of those that predict, of whichever libraries', async (t) => {
    const cluster = await TestCluster.start(t);
    const types = ['mljs.run', 'other.predict', 'mljs.predict', 'a.run', 'zz.predict', 'mljs.run'];
    const writer = await open({ filename: join(cluster.stateDir, 'store.sqlite'), driver: sqlite3.Database });
    for (const type of types) {
      const { id } = await cluster.submit(job({ type: 'demo.run' }));
      // Which model they predict with is of no account here.
      await writer.run('UPDATE jobs SET type = ? WHERE id = ?', type, id);
    }
    await writer.close();
    const listed = async (query: Partial<JobQuery>) =>
      (await cluster.seen.jobs({ limit: 100, ...query })).map(({ type }) => type).reverse();
    assert.deepEqual(await listed({ kind: 'run' }), ['mljs.run', 'a.run', 'mljs.run']);
    assert.deepEqual(await listed({ kind: 'predict' }), ['other.predict', 'mljs.predict', 'zz.predict']);
    assert.deepEqual(await listed({ kind: 'predict', limit: 2 }), ['mljs.predict', 'zz.predict']);
    assert.deepEqual(await listed({ kind: 'run', status: 'failed' }), []);
    const db = await openReader(`${cluster.stateDir}/store.sqlite`);
    t.after(() => db.close());
    const plan = await db.all<{ detail: string }[]>(`EXPLAIN QUERY PLAN ${textOf(TYPES_SQL, 'sqlite')}`);
    for (const { detail } of plan.filter(({ detail: step }) => / jobs/.test(step)))
      assert.match(
        detail,
        /^SEARCH jobs USING COVERING INDEX jobs_type\b/,
        'each type by one look into an index',
      );
  });
});
