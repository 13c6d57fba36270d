import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Changes } from '../../actors/server/store/changes.ts';
import { Database } from '../../actors/server/store/postgres/connect.ts';
import { PLACES_OF_ALL } from '../../actors/server/store/postgres/job-places.ts';
import { WRITING } from '../../actors/server/store/postgres/turn-sessions.ts';
import { turnStatement } from '../../actors/server/store/postgres/turn-sql.ts';
import type { JobRow, TaskRow } from '../../actors/server/store/rows.ts';
import { LIST_NAMES, LISTS } from '../../actors/server/store/turn-sql.ts';
import { requires } from '../support/requires.ts';
import { emptyDatabase, openAt, storeAt } from './drivers.ts';
import { aTurnOfEverything, jobRow, nothing, taskRow, workerRow } from './row-support.ts';

/** A store with a job, and a session in which turns are written as the server's own writes them. */
async function written(t: TestContext) {
  const address = await emptyDatabase();
  const store = await openAt(address);
  await store.commit(aTurnOfEverything());
  await store.close();
  const client = await (await Database.at(address)).connect('specification', WRITING);
  t.after(() => client.end());
  const { rows } = await client.query<{ epoch: number }>('SELECT epoch FROM reign');
  return { client, epoch: rows[0]?.epoch as number };
}

/** A row for each list that changes rows, or takes them away. */
const CHANGES = {
  ...{
    plain_changed_jobs: jobRow,
    changed_jobs: jobRow,
    plain_changed_tasks: taskRow,
    changed_tasks: taskRow,
  },
  ...{ plain_changed_workers: workerRow, changed_workers: workerRow, removed_workers: workerRow },
  lifted_pauses: { kind: 'type', name: 'demo.run' },
};

describe('a turn in PostgreSQL', requires('postgresql'), () => {
  test('finds each of its rows along an index, also with plans from when there were hardly any', async (t) => {
    const { client, epoch } = await written(t);
    const changing = LIST_NAMES.filter((name) => ['update', 'delete'].includes(LISTS[name].writing));
    assert.deepEqual(Object.keys(CHANGES).sort(), [...changing].sort());
    for (const [list, row] of Object.entries(CHANGES)) {
      const { statement, documents } = turnStatement({ ...nothing(), [list]: [row] } as never, 'whole');
      await client.query(`PREPARE turn AS ${statement.text}`);
      const values = documents.map((document) => client.escapeLiteral(document)).join(', ');
      const { rows } = await client.query(`EXPLAIN EXECUTE turn (${epoch}, 1, ${values})`);
      await client.query('DEALLOCATE turn');
      const plan = rows.map((line) => line['QUERY PLAN']).join('\n');
      assert.doesNotMatch(plan, /Seq Scan|Hash|Merge/, list);
      assert.equal(plan.match(/Index Scan/g)?.length, plan.match(/Index Cond/g)?.length, plan);
    }
  });

  /** Rows of a table that a turn changes, and those of them that reach no index. */
  const changing = ({ client, epoch }: Awaited<ReturnType<typeof written>>, table: 'jobs' | 'tasks') => {
    // Of this transaction and earlier ones that are not told of yet.
    const writes = async () => {
      const { rows } = await client.query<{ all: number; alone: number }>(
        `SELECT pg_stat_get_xact_tuples_updated('${table}'::regclass) AS all,
           pg_stat_get_xact_tuples_hot_updated('${table}'::regclass) AS alone`,
      );
      return rows[0] as { all: number; alone: number };
    };
    return async (changes: Partial<Changes>) => {
      const { statement, documents } = turnStatement({ ...nothing(), ...changes }, 'whole');
      await client.query('BEGIN');
      const before = await writes();
      await client.query({ ...statement, values: [epoch, 1, ...documents] });
      const after = await writes();
      await client.query('COMMIT');
      return { all: after.all - before.all, alone: after.alone - before.alone };
    };
  };

  test('writes a job that has changed into its table alone, and into no index, also at its end', async (t) => {
    const change = changing(await written(t), 'jobs');
    const job = (differs: Partial<JobRow>) => change({ changed_jobs: [{ ...jobRow, ...differs }] });
    const counts = { ...jobRow.counts, running: 2, succeeded: 6 };
    const later = { counts, updated_at: jobRow.updated_at + 1, best_metric: 0.25 };
    assert.deepEqual(await job(later), { all: 1, alone: 1 });
    assert.deepEqual(await job({ status: 'queued' }), { all: 1, alone: 1 });
    assert.deepEqual(await job({ status: 'succeeded' }), { all: 1, alone: 1 });
  });

  test('writes a task that starts into no index', async (t) => {
    const change = changing(await written(t), 'tasks');
    const task = (differs: Partial<TaskRow>) => change({ changed_tasks: [{ ...taskRow, ...differs }] });
    await task({ status: 'leased' });
    assert.deepEqual(await task({ status: 'running', started_at: 1 }), { all: 1, alone: 1 });
    // By its end it is looked for.
    assert.deepEqual(await task({ status: 'succeeded' }), { all: 1, alone: 0 });
  });

  test('finds room for all rows of a page that change together', async (t) => {
    const session = await written(t);
    const jobs = Array.from({ length: 60 }, (_, i) => ({
      ...{ ...jobRow, seq: 100 + i, id: `job_${100 + i}`, created_at: i, idempotency_key: `${i}` },
    }));
    const change = changing(session, 'jobs');
    await change({ new_jobs: jobs });
    for (const status of ['running', 'succeeded'] as const) {
      const { all, alone } = await change({ changed_jobs: jobs.map((row) => ({ ...row, status })) });
      assert.equal(all, 60);
      assert.ok(alone >= 54, `${alone} of 60`);
    }
  });

  test('keeps the place of each job as its row says', async (t) => {
    const address = await emptyDatabase();
    const store = await storeAt(t, address);
    const [, columns = '', wanted] = /\((.*?)\) (SELECT.*)/s.exec(PLACES_OF_ALL) ?? [];
    const places = async () => {
      const kept = await store.queries.all(`SELECT ${columns} FROM job_places ORDER BY seq`);
      const all = `SELECT * FROM (${wanted}) AS p (${columns}) ORDER BY seq`;
      assert.deepEqual(kept, await store.queries.all(all));
      return kept as { status: string; ended_at: number | null; kept_until: number | null }[];
    };
    const plain: JobRow = { ...jobRow, tags: [], note: null, moved: null, keep: null, error: null };
    const other = { ...plain, seq: 2, id: 'job_2', created_at: 1, idempotency_key: null };
    await store.commit({ ...nothing(), new_jobs: [{ ...jobRow, tags: [] }], plain_new_jobs: [other] });
    assert.deepEqual(
      (await places()).map(({ ended_at }) => ended_at),
      [null, null],
    );
    const end = { status: 'failed', updated_at: 5 } as const;
    await store.commit({
      ...nothing(),
      plain_changed_jobs: [
        { ...jobRow, ...end },
        { ...other, ...end },
      ],
    });
    // Who wished how long it is kept is in no plain change.
    const [first, second] = await places();
    assert.deepEqual(first, { ...first, status: 'failed', ended_at: 5, kept_until: 5 + 7 * 86_400 });
    assert.deepEqual(second, { ...second, status: 'failed', ended_at: 5, kept_until: null });
    await store.commit({ ...nothing(), changed_jobs: [{ ...jobRow, ...end, keep: null }] });
    assert.equal((await places())[0]?.kept_until, null);
  });
});
