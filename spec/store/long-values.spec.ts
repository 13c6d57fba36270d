import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fitting } from '../../actors/server/reads/pages.ts';
import { openReader } from '../../actors/server/store/open.ts';
import { LIMITS } from '../../machines/protocol/limits.ts';
import { csvCell, csvLine, readCsv, textOfCell } from '../../machines/results/csv.ts';
import { job, TestCluster, withJob } from '../support/cluster.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { textOf } from '../support/views.ts';
import { drivers, openAt } from './drivers.ts';
import { nothing } from './row-support.ts';

/** With what has two bytes, a pair of surrogates, and what JSON escapes, so that no cut is at a character by chance. */
const LONG = 'é🜁"\n\u0001\\a'.repeat(60_000);

/** A job of so many tasks, every other one failed, the others ranked from the last to the first. */
async function finished(cluster: TestCluster, count: number): Promise<string> {
  const pipelines = Array.from({ length: count }, (_, i) => ({ kind: 'path', path: `/p/${i}` }));
  const { id } = await cluster.submit(job({ pipeline: undefined, pipelines, retry: { max_attempts: 1 } }));
  const worker = await cluster.register({ slots_total: count });
  for (const [i, task] of (await worker.lease(count)).entries()) {
    await worker.start(task);
    if (i % 2 === 1) await worker.fail(task, { error: `e${i}` });
    else await worker.complete(task, { metrics: i === 0 ? { r2: 0.5 } : { best_rmse: count - i } });
  }
  return id;
}

/** PostgreSQL takes no text that long into an index, and has no row from before the limit of types. */
const TYPE = { sqlite: LONG, postgresql: 'é'.repeat(LIMITS.type) };

/** Changes rows of a cluster that has stopped, each statement with the values of its parameters. */
async function change(cluster: TestCluster, ...statements: [sql: string, ...params: string[]][]) {
  const store = await openAt(cluster.store ?? cluster.stateDir);
  await store.commit({ ...nothing(), further: statements.map(([sql, ...params]) => ({ sql, params })) });
  await store.close();
}

for (const driver of drivers) {
  describe(`rows from before the limits in ${driver.name}`, driver.needing, () => {
    test('are served complete, each value as it was stored', async (t) => {
      const cluster = await TestCluster.start(t, {}, await driver.store());
      const type = TYPE[driver.name];
      const id = await finished(cluster, 4);
      await cluster.stop();
      const result = { status: 'succeeded', metrics: { best_rmse: 1, note: LONG }, extra: { LONG } };
      await change(
        cluster,
        ["UPDATE tasks SET result = ? WHERE status = 'succeeded'", JSON.stringify(result)],
        ["UPDATE tasks SET error = ?, pipeline_label = ? WHERE status = 'failed'", LONG, LONG],
        ['UPDATE jobs SET type = ?', type],
        ['UPDATE workers SET labels = ?', JSON.stringify({ LONG })],
        ['UPDATE job_requests SET request = ?', JSON.stringify({ LONG })],
        ['UPDATE events SET message = ?, data = ?', LONG, JSON.stringify({ LONG })],
      );
      await cluster.start();
      const { reads } = cluster.port;
      const view = await cluster.job(id);
      assert.equal(view.type, type);
      assert.deepEqual(Object.values(view.aggregate.errors), [LONG, LONG]);
      assert.deepEqual(view.aggregate.ranking[0]?.metrics, result.metrics);
      const tasks = await cluster.tasks(id);
      assert.deepEqual(tasks[0]?.result, result);
      assert.deepEqual([tasks[1]?.error, tasks[1]?.pipeline_label], [LONG, LONG]);
      assert.equal((await cluster.seen.jobs({ limit: 5 }))[0]?.type, type);
      assert.deepEqual((await cluster.seen.workers())[0]?.labels, { LONG });
      assert.deepEqual(JSON.parse(await textOf(reads.jobRequest(id))), { LONG });
      const events = await cluster.seen.events({ after_id: 0, limit: 100 });
      assert.ok(
        events.length > 10 && events.every((event) => event.message === LONG && event.data.LONG === LONG),
      );
      // A frame is whole, so that a stream gets them cut.
      const page = await reads.events({ after_id: 0, limit: 100 });
      assert.ok(page.events.every((event) => JSON.stringify(event).length < 400_000));
    });

    test('stand among short ones where they stood, and all are whole', async (t) => {
      const cluster = await TestCluster.start(t, {}, await driver.store());
      const id = await finished(cluster, 60);
      const before = (await cluster.tasks(id)).map((task) => task.id);
      const ranked = (await cluster.job(id)).aggregate.ranking.map((entry) => entry.task_id);
      await cluster.stop();
      // Runs of those that come with a look, of those that a page holds, and of those that are left for later.
      const lengths = [0, 10, 1000, 1050, 30_000, 40_000, 10, 10, 500_000];
      const texts = lengths.map((length) => 'é'.repeat(length));
      const changes = texts.map((x, k): [string, ...string[]] => [
        `UPDATE tasks SET result = ?, error = ? WHERE (seq / 2) % ${lengths.length} = ${k}`,
        JSON.stringify({ metrics: { k }, extra: { x } }),
        x,
      ]);
      await change(cluster, ...changes);
      await cluster.start();
      const tasks = await cluster.tasks(id);
      assert.deepEqual(
        tasks.map((task) => task.id),
        before,
      );
      const held = (result: unknown) => result as { metrics: { k: number }; extra: { x: string } };
      const places = new Map(tasks.map((task) => [task.id, held(task.result).metrics.k]));
      assert.deepEqual(new Set(places.values()), new Set(lengths.keys()));
      for (const { result, error } of tasks) {
        const { metrics, extra } = held(result);
        assert.equal(extra.x, texts[metrics.k]);
        assert.equal(error, extra.x);
      }
      const { ranking, errors } = (await cluster.job(id)).aggregate;
      assert.deepEqual(
        ranking.map((entry) => entry.task_id),
        ranked,
      );
      for (const { task_id, metrics } of ranking) assert.deepEqual(metrics, { k: places.get(task_id) });
      assert.deepEqual(
        Object.entries(errors),
        before.filter((_, i) => i % 2 === 1).map((task) => [task, texts[places.get(task) as number]]),
      );
    });

    for (const [what, error] of [
      ['that stand in their rows', 'short'],
      ['of which some are left out of their rows', LONG],
    ] as const) {
      test(`come in pieces of bounded size, many values ${what}`, async (t) => {
        const cluster = await TestCluster.start(t, {}, await driver.store());
        const id = await finished(cluster, 120);
        await cluster.stop();
        const result = JSON.stringify({ LONG: LONG.slice(0, 24_000) });
        await change(
          cluster,
          ["UPDATE tasks SET result = ? WHERE status = 'succeeded'", result],
          ["UPDATE tasks SET error = ? WHERE status = 'failed'", error],
        );
        await cluster.start();
        for await (const piece of cluster.port.reads.tasks({ job_id: id })) {
          assert.ok(piece.length < 1_600_000, `a piece of ${piece.length} characters`);
        }
      });
    }
  });
}

test('a page has one row at least, however long that is', () => {
  assert.deepEqual(fitting([{ bytes: 1e9 }, { bytes: 1 }], 0), [{ bytes: 1e9 }]);
});

describe('rows from before the limits', () => {
  test('that no text can hold fail their query, not the process', async (t) => {
    const cluster = await TestCluster.start(t);
    const db = await openReader(join(cluster.stateDir, 'store.sqlite'));
    t.after(() => db.close());
    await assert.rejects(db.get('SELECT hex(zeroblob(150000000)) AS text'), /too big/);
    assert.deepEqual(await db.get('SELECT 1 AS one'), { one: 1 });
  });
});

describe('the tasks of a job', () => {
  test('are listed in pages, by status, and after a task', async (t) => {
    const cluster = await TestCluster.start(t);
    const job_id = await finished(cluster, 6);
    const { reads } = cluster.port;
    const all = (await cluster.tasks(job_id)).map((task) => task.id);
    const list = async (query: object) =>
      (JSON.parse(await textOf(reads.tasks({ job_id, ...query }))) as { id: string }[]).map(
        (task) => task.id,
      );
    assert.deepEqual(await list({ limit: 4 }), all.slice(0, 4));
    assert.deepEqual(await list({ limit: 4, after_id: all[3] }), all.slice(4));
    assert.deepEqual(await list({ status: 'failed', limit: 2 }), [all[1], all[3]]);
    assert.deepEqual(await list({ status: 'failed', after_id: all[1] }), [all[3], all[5]]);
    assert.deepEqual(await list({ status: 'lost' }), []);
    await assert.rejects(list({ after_id: 'task_none' }), { code: 'unknown_id' });
    await assert.rejects(textOf(reads.tasks({ job_id: 'job_none' })), { code: 'unknown_id' });
  });
});

describe('the ranking of a job', () => {
  test('is complete, best first, tasks without the metric last, and may be read in parts', async (t) => {
    const cluster = await TestCluster.start(t);
    const job_id = await finished(cluster, 1204);
    const { reads } = cluster.port;
    const ids = (await cluster.tasks(job_id)).map((task) => task.id);
    const ranked = ids.filter((_, i) => i % 2 === 0).reverse();
    const list = async (query: object) =>
      (
        JSON.parse(await textOf(reads.ranking({ job_id, csv: false, ...query }))) as { task_id: string }[]
      ).map((entry) => entry.task_id);
    assert.deepEqual(await list({}), ranked);
    assert.deepEqual(await list({ offset: 595, limit: 5 }), ranked.slice(595, 600));
    assert.deepEqual(await list({ offset: 600 }), ranked.slice(600));
    assert.deepEqual(await list({ offset: 602 }), []);
    const lines = (await textOf(reads.ranking({ job_id, csv: true, limit: 2 }))).split('\r\n');
    assert.equal(lines[0], 'rank,task_id,dataset,pipeline,best_rmse,other_metrics');
    assert.equal(lines[1], `1,${ranked[0]},/data/x,1202,2,`);
    assert.equal(lines.length, 4);
  });

  test('is a table without cells that a spreadsheet would compute', () => {
    assert.equal(csvCell('=1+1'), "'=1+1");
    assert.equal(csvCell(' @cmd'), "' @cmd");
    assert.equal(csvCell('-a,"b"'), `"'-a,""b"""`);
    for (const text of ['=1', "'=1", "''=1", "' @x", "'", "''", "'a", '-', 'plain', "'\t"])
      assert.equal(readCsv(csvLine([text, 'b']))[0]?.map(textOfCell)[0], text, 'and is read as it was');
    assert.deepEqual([csvCell(-0.5), csvCell(null), csvCell('plain')], ['-0.5', '', 'plain']);
  });

  test('without the metric by which a job ranks names no best task, and says what was reported', async (t) => {
    const { cluster, id, worker } = await withJob(t);
    await worker.complete(await worker.run(), { metrics: { best_r2: 0.9, best_rmse: '0.1' } as never });
    const { warnings, aggregate } = await cluster.job(id);
    assert.deepEqual([aggregate.best_task_id, aggregate.best_metric], [null, null]);
    assert.match(warnings.at(-1) ?? '', /no task reported a number for 'best_rmse'.*'best_r2'/);
  });
});

test('a long answer has no length, a short one has, and HEAD says the same of both', async (t) => {
  const state = await temporaryDirectory(t);
  const server = await startTestServer(t, { state });
  const pipelines = Array.from({ length: 400 }, (_, i) => ({ kind: 'path', path: `/p/${i}` }));
  const text = JSON.stringify(job({ pipeline: undefined, pipelines }));
  const { id } = await server.client.call('submitJob', { text });
  const of = async (method: string, path: string) => {
    const answer = await fetch(`${server.url}/v1/jobs/${id}${path}`, { method });
    return { length: answer.headers.get('content-length'), body: await answer.text() };
  };
  const short = await of('GET', '');
  assert.equal(Number(short.length), Buffer.byteLength(short.body));
  assert.deepEqual(await of('HEAD', ''), { length: short.length, body: '' });
  const long = await of('GET', '/tasks');
  assert.deepEqual([long.length, (JSON.parse(long.body) as unknown[]).length], [null, 400]);
  assert.deepEqual(await of('HEAD', '/tasks'), { length: null, body: '' });
});
