import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { Database } from '../../actors/server/store/postgres/connect.ts';
import { WRITING } from '../../actors/server/store/postgres/turn-sessions.ts';
import { turnStatement } from '../../actors/server/store/postgres/turn-sql.ts';
import type { JobRow } from '../../actors/server/store/rows.ts';
import { LIST_NAMES, LISTS } from '../../actors/server/store/turn-sql.ts';
import { requires } from '../support/requires.ts';
import { emptyDatabase, openAt } from './drivers.ts';
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

  test('writes a job whose counts have changed into its table alone, and into no index', async (t) => {
    const { client, epoch } = await written(t);
    // Of this transaction and earlier ones that are not told of yet.
    const writes = async () => {
      const { rows } = await client.query<{ all: number; alone: number }>(
        `SELECT pg_stat_get_xact_tuples_updated('jobs'::regclass) AS all,
           pg_stat_get_xact_tuples_hot_updated('jobs'::regclass) AS alone`,
      );
      return rows[0] as { all: number; alone: number };
    };
    const change = async (differs: Partial<JobRow>) => {
      const turn = { ...nothing(), changed_jobs: [{ ...jobRow, ...differs }] };
      const { statement, documents } = turnStatement(turn, 'whole');
      await client.query('BEGIN');
      const before = await writes();
      await client.query({ ...statement, values: [epoch, 1, ...documents] });
      const after = await writes();
      await client.query('COMMIT');
      return { all: after.all - before.all, alone: after.alone - before.alone };
    };
    const counts = { ...jobRow.counts, running: 2, succeeded: 6 };
    const later = { counts, updated_at: jobRow.updated_at + 1, best_metric: 0.25 };
    assert.deepEqual(await change(later), { all: 1, alone: 1 });
    // By its end it is looked for.
    assert.deepEqual(await change({ status: 'succeeded' }), { all: 1, alone: 0 });
  });
});
