import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { job, TestCluster } from '../support/cluster.ts';
import { textOf } from '../support/views.ts';

/** Statements that the connections of this process run, in the order in which they first came. */
const statements = new Set<string>();
const methods = sqlite3.Database.prototype as unknown as Record<
  'all' | 'get' | 'prepare',
  (sql: string, ...rest: unknown[]) => unknown
>;
for (const name of ['all', 'get', 'prepare'] as const) {
  const original = methods[name];
  methods[name] = function (sql: string, ...rest: unknown[]) {
    if (/^\s*(SELECT|WITH)/i.test(sql)) statements.add(sql.replace(/\s+/g, ' ').trim());
    return original.call(this, sql, ...rest);
  };
}

/** The statements that some work runs. */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  statements.clear();
  await work();
  return [...statements];
}

/** How SQLite finds the rows of a statement, a step a line. */
async function planOf(stateDir: string, sql: string): Promise<string[]> {
  const db = await open({ filename: join(stateDir, 'store.sqlite'), driver: sqlite3.Database });
  try {
    return (await db.all<{ detail: string }[]>(`EXPLAIN QUERY PLAN ${sql}`)).map(({ detail }) => detail);
  } finally {
    await db.close();
  }
}

/** One or two letters of a name are in no index; the walk along the order ends with the page. */
const LOOKS_AT_EACH = /instr\((jobs\.)?name_folded, \?\)/;

/**
 * What is slow in a plan: a table read from one end to the other, or a sort of all that was found. To walk along
 * an order is fine where a LIMIT ends it and nothing is passed over. What the statement itself was given is no table.
 */
function slowIn(sql: string, plan: readonly string[]): string[] {
  const filters = /\bWHERE\b/.test(sql) && !LOOKS_AT_EACH.test(sql);
  const walks = /\bLIMIT\b/.test(sql) && !filters;
  const given = [...sql.matchAll(/(\w+) \([^()]*\) AS (?:MATERIALIZED )?\(|\) AS (\w+)/g)].map(
    ([, named, last]) => named ?? last,
  );
  const reads = (step: string) => {
    const [, table] = /^SCAN (\w+)/.exec(step) ?? [];
    return table !== undefined && !given.includes(table) && !/ VIRTUAL TABLE | CONSTANT ROW/.test(step);
  };
  const sortsGiven = given.some((name) => new RegExp(`FROM ${name} WHERE [^;]*ORDER BY[^()]*$`).test(sql));
  const sorts = (step: string) => /TEMP B-TREE FOR (ORDER BY|GROUP BY)/.test(step) && !sortsGiven;
  const slow = plan.filter((step) => sorts(step) || (reads(step) && !walks));
  // SQLite plans it whenever it is run, which may take longer than to find the rows.
  if (/\b(LIMIT|OFFSET) \?(?! \+)/.test(sql)) slow.push('planned anew for each LIMIT or OFFSET');
  // A range of ids is no search for the rows of one job.
  // With the unary plus, a condition is no search.
  const asked = /\b\w+ = \?/.test(sql.replace(/^.*?\bWHERE\b/, '').replace(/\+\w+\.\w+ = \?/g, ''));
  return asked && !plan.some((step) => /[(]\w+=\?/.test(step))
    ? [...slow, 'no search for what is asked']
    : slow;
}

async function slowSteps(stateDir: string, found: readonly string[]): Promise<string[]> {
  const slow: string[] = [];
  for (const sql of found) {
    for (const step of slowIn(sql, await planOf(stateDir, sql))) slow.push(`${step}: ${sql}`);
  }
  return slow;
}

describe('the queries of the store', () => {
  test('a GET finds its rows by an index, whatever it filters by', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id: job_id } = await cluster.submit(job({ name: 'named' }));
    const worker = await cluster.register();
    const leased = await worker.run();
    await worker.complete(leased);
    const LIST = ['first', 'second', 'third', 'fourth'];
    const several: string[] = [];
    for (const name of LIST) {
      const { id } = await cluster.submit(job({ rank_metric: LIST }));
      await worker.complete(await worker.run(), { metrics: { [name]: 1 } });
      several.push(id);
    }
    const { reads } = cluster.port;
    const found = await statementsOf(async () => {
      for (const status of [undefined, 'succeeded', 'queued']) {
        for (const name of [undefined, 'named', 'na']) {
          for (const created_before of [undefined, 1e12]) {
            await textOf(
              reads.jobs({
                limit: 100,
                ...(status ? { status } : {}),
                ...(name ? { name } : {}),
                ...(created_before ? { created_before } : {}),
              }),
            );
          }
        }
      }
      for (const query of [{ ref: job_id }, { ref: 'named', status: 'queued' }, { owner: 'ann' }]) {
        await textOf(reads.jobs({ ...query, limit: 100 }));
      }
      await textOf(reads.job(job_id));
      await textOf(reads.jobRequest(job_id));
      for (const status of [undefined, 'succeeded'] as const) await textOf(reads.tasks({ job_id, status }));
      await textOf(reads.tasks({ job_id, after_id: leased.task_id, limit: 5 }));
      for (const id of [job_id, ...several]) {
        for (const csv of [false, true]) await textOf(reads.ranking({ job_id: id, csv, offset: 1 }));
      }
      for (const scope of [{}, { job_id }, { job_id, task_id: leased.task_id }]) {
        await reads.events({ ...scope, after_id: 0, limit: 500 });
        await textOf(reads.eventList({ ...scope, after_id: 0, limit: 500 }));
        await textOf(reads.eventList({ ...scope, after_id: 0, before_id: 1000, limit: 500 }));
      }
      await reads.eventIdBefore(200);
      await textOf(reads.jobArtifacts({ job_id }));
      await reads.artifact('art_none').catch(() => {});
      await reads.statsHistory();
      await reads.demand();
      await reads.assertTask(leased.task_id);
    });
    assert.ok(found.length >= 10, `only ${found.length} statements were seen`);
    assert.deepEqual(await slowSteps(cluster.stateDir, found), []);
  });

  test('what is deleted finds who has results of it by an index, each job once, not each of its tasks', async (t) => {
    const cluster = await TestCluster.start(t);
    cluster.retention = { keepJobs: 100, keepEvents: 50 };
    await cluster.restart();
    const worker = await cluster.register();
    for (const keep of [undefined, '10s']) {
      const { id } = await cluster.submit(job());
      await worker.complete(await worker.run());
      if (keep) await cluster.keep(id, keep);
    }
    const { id } = await cluster.submit(job());
    await worker.complete(await worker.run());
    const found = await statementsOf(async () => {
      await cluster.delete(id);
      await cluster.clock.advance(200);
      await cluster.settled();
    });
    const asking = found.filter((sql) => /reused_from ->> 'job_id'/.test(sql));
    assert.equal(asking.length, 4, 'by hand, by wish, of jobs and of their events');
    for (const sql of asking) {
      const steps = (await planOf(cluster.stateDir, sql)).filter((step) => / t USING /.test(step));
      const index = 'SEARCH t USING INDEX tasks_reused';
      assert.deepEqual(steps, [`${index} (<expr>=?)`, `${index} (<expr>=? AND job_id>?)`], sql);
    }
  });

  test('a turn loads the rows that it needs by an index', async (t) => {
    const cluster = await TestCluster.start(t);
    const found = await statementsOf(async () => {
      await cluster.submit(job({ idempotency_key: 'once' }));
      const worker = await cluster.register();
      await worker.complete(await worker.run());
      const other = await cluster.submit(job());
      await cluster.cancel(other.id);
    });
    assert.ok(found.length >= 2, `only ${found.length} statements were seen`);
    assert.deepEqual(await slowSteps(cluster.stateDir, found), []);
  });

  test('a statement without an index fails this check', async (t) => {
    const { stateDir } = await TestCluster.start(t);
    const statements = [
      "SELECT id FROM tasks WHERE status = 'failed'",
      'SELECT id FROM jobs ORDER BY name LIMIT 1',
      'SELECT id FROM events WHERE id > ? AND worker_id = ? ORDER BY id LIMIT ?',
      'SELECT id FROM events WHERE message > ? ORDER BY id LIMIT ?',
    ];
    const slow = await Promise.all(statements.map((sql) => slowSteps(stateDir, [sql])));
    assert.deepEqual(
      statements.filter((_, i) => slow[i]?.length === 0),
      [],
    );
  });
});
