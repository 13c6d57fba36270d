import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import type { JobView } from '../../machines/schema/views.ts';
import { job, TestCluster, withJob } from '../support/cluster.ts';
import { textOf } from '../support/views.ts';

type Metrics = Record<string, number | null | undefined>;

/** A job whose tasks report these metrics, in their order. */
async function reported(cluster: TestCluster, differs: Record<string, unknown>, ...results: Metrics[]) {
  const pipelines = results.map((_, n) => ({ kind: 'path', path: `/p/model-${n}.yaml` }));
  const { id } = await cluster.submit(job({ pipeline: null, pipelines, ...differs }));
  const worker = await cluster.register({ slots_total: results.length });
  for (const [i, task] of (await worker.lease(results.length)).entries()) {
    await worker.start(task);
    await worker.complete(task, { metrics: results[i] as Record<string, number | null> });
  }
  return id;
}

/** The pipelines in their order, each with what stands under the rank metric. */
const entries = ({ aggregate: { ranking, rank_metric } }: JobView) =>
  ranking.map((entry) => [entry.pipeline, (entry as Record<string, unknown>)[rank_metric]]);
const LIST = { rank_metric: ['best_rmse', 'cv_rmse', 'best_r2', 'cv_r2'] };

describe('a job with a list of rank metrics', () => {
  test('ranks by the first that every succeeded task reports, in view, list, ranking and table alike', async (t) => {
    const cluster = await TestCluster.start(t);
    const results = [{ best_rmse: 0.1, cv_rmse: 0.4 }, { cv_rmse: 0.2 }, { best_rmse: null, cv_rmse: 0.3 }];
    const id = await reported(cluster, LIST, ...results);
    const view = await cluster.job(id);
    assert.deepEqual([view.aggregate.rank_metric, view.aggregate.best_metric], ['cv_rmse', 0.2]);
    const right = [
      ['model-1', 0.2],
      ['model-2', 0.3],
      ['model-0', 0.4],
    ];
    assert.deepEqual(entries(view), right);
    assert.equal(view.aggregate.best_task_id, view.aggregate.ranking[0]?.task_id);
    assert.deepEqual(view.warnings, []);
    assert.equal((await cluster.seen.jobs({ limit: 1 }))[0]?.aggregate.rank_metric, 'cv_rmse');
    const part = JSON.parse(
      await textOf(cluster.port.reads.ranking({ job_id: id, csv: false, limit: 1, offset: 1 })),
    );
    assert.deepEqual([part[0].pipeline, part[0].cv_rmse], ['model-2', 0.3]);
    const csv = await textOf(cluster.port.reads.ranking({ job_id: id, csv: true }));
    const [head, first] = csv.split('\r\n');
    assert.match(head ?? '', /^rank,task_id,dataset,pipeline,cv_rmse,best_rmse/);
    assert.match(first ?? '', /^1,task_\w+,\/data\/x,model-1,0\.2,/);
    const request = JSON.parse(await textOf(cluster.port.reads.jobRequest(id)));
    assert.deepEqual(request.rank_metric, LIST.rank_metric);
  });

  test('ranks by the metric that most tasks report where none is reported by all, and says which are left out', async (t) => {
    const cluster = await TestCluster.start(t);
    const id = await reported(cluster, LIST, { best_rmse: 1 }, { cv_rmse: 3 }, { cv_rmse: 2 }, {});
    const view = await cluster.job(id);
    assert.equal(view.aggregate.rank_metric, 'cv_rmse');
    assert.deepEqual(entries(view), [
      ['model-2', 2],
      ['model-1', 3],
      ['model-0', null],
      ['model-3', null],
    ]);
    assert.deepEqual(view.warnings, [
      "2 of 4 succeeded tasks reported no number for 'cv_rmse', by which the job ranks, and are unranked, and none of the other metrics was reported by more",
    ]);
  });

  test('has no best task and no best model where none of the list is reported, and names the metrics that are', async (t) => {
    const cluster = await TestCluster.start(t);
    const id = await reported(cluster, LIST, { best_q2: 0.5, best_mae: null }, {});
    const { warnings, aggregate } = await cluster.job(id);
    const { best_metric, best_task_id, best_model_artifact_id, rank_metric } = aggregate;
    assert.deepEqual([best_metric, best_task_id, best_model_artifact_id], [null, null, null]);
    assert.equal(rank_metric, 'best_rmse');
    assert.deepEqual(warnings, [
      "no task reported a number for 'best_rmse' or 'cv_rmse' or 'best_r2' or 'cv_r2', by which the job ranks; metrics that were reported: 'best_q2'",
    ]);
  });

  test('knows after a restart what was reported before it', async (t) => {
    const cluster = await TestCluster.start(t);
    const pipelines = [1, 2].map((inline) => ({ kind: 'inline_json', inline }));
    const { id } = await cluster.submit(job({ pipeline: null, pipelines, ...LIST }));
    const worker = await cluster.register();
    await worker.complete(await worker.run(), { metrics: { best_rmse: 1, cv_rmse: 5 } });
    assert.equal((await cluster.job(id)).aggregate.rank_metric, 'best_rmse');
    await cluster.restart();
    await worker.complete(await worker.run(), { metrics: { cv_rmse: 4 } });
    const { aggregate } = await cluster.job(id);
    assert.deepEqual([aggregate.rank_metric, aggregate.best_metric], ['cv_rmse', 4]);
  });

  test('keeps its rank metrics in a result that has too many metrics to keep', async (t) => {
    const cluster = await TestCluster.start(t);
    const many = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`m${i}`, i]));
    const id = await reported(cluster, LIST, { ...many, cv_r2: 0.5, best_rmse: 3 }, { cv_r2: 0.25 });
    const [first] = (await cluster.job(id)).aggregate.ranking;
    assert.deepEqual([first?.metrics.cv_r2, first?.metrics.best_rmse], [0.5, 3]);
    assert.ok(Object.keys(first?.metrics ?? {}).length <= 1000);
  });

  test('gives its tasks one rank metric, the first, as workers expect it', async (t) => {
    const { worker } = await withJob(t, job(LIST));
    const { payload } = await worker.leaseOne();
    assert.equal(JSON.parse(payload.text).rank_metric, 'best_rmse');
  });
});

describe('a job with one rank metric', () => {
  test('that some tasks did not report says how many are unranked', async (t) => {
    const cluster = await TestCluster.start(t);
    const id = await reported(cluster, {}, { best_rmse: 1 }, { cv_rmse: 2 }, { best_rmse: 0.5 });
    const { warnings, aggregate } = await cluster.job(id);
    assert.deepEqual([aggregate.rank_metric, aggregate.best_metric], ['best_rmse', 0.5]);
    assert.deepEqual(warnings, [
      "1 of 3 succeeded tasks reported no number for 'best_rmse', by which the job ranks, and is unranked",
    ]);
  });
});

test('a store of an earlier version knows the one metric that its jobs rank by', async (t) => {
  const cluster = await TestCluster.start(t);
  const done = await reported(cluster, { rank_metric: 'best_r2' }, { best_r2: 0.5 }, { best_r2: 0.75 });
  const goesOn = await cluster.submit(job({ rank_metric: 'best_r2' }));
  await cluster.stop();
  const db = await open({ filename: join(cluster.stateDir, 'store.sqlite'), driver: sqlite3.Database });
  await db.exec('UPDATE jobs SET standings = NULL');
  await db.close();
  await cluster.start();
  const before = await cluster.job(done);
  assert.deepEqual([before.aggregate.rank_metric, before.aggregate.best_metric], ['best_r2', 0.75]);
  assert.deepEqual(before.warnings, []);
  const worker = await cluster.register();
  await worker.complete(await worker.run(), { metrics: { best_r2: 0.25 } });
  const after = await cluster.job(goesOn.id);
  assert.deepEqual([after.aggregate.rank_metric, after.aggregate.best_metric], ['best_r2', 0.25]);
});

describe('the view of a job', () => {
  const doubles: Metrics[] = [{ best_rmse: 0.1 + 0.2 }, { best_rmse: 5e-324 }, { best_rmse: -1.7e308 }];
  for (const [title, results, differs] of [
    ...doubles.map((metrics) => [`of one task that reports ${metrics.best_rmse}`, [metrics], {}] as const),
    ['of one task, by the second of its metrics', [{ cv_rmse: 0.25 }], LIST],
    ['of one task that reports another metric', [{ loss: 1 }], {}],
    ['of one task whose labels and metrics need quotes', [{ 'best "é"': 2 }], { rank_metric: 'best "é"' }],
    ['of two tasks', [{ best_rmse: 2 }, { best_rmse: 1 }], {}],
  ] as [string, Metrics[], Record<string, unknown>][])
    test(`${title} has the same ranking as its ranking by itself, to the letter`, async (t) => {
      const cluster = await TestCluster.start(t);
      const id = await reported(cluster, differs, ...results);
      const ranking = await textOf(cluster.port.reads.ranking({ job_id: id, csv: false }));
      const view = await textOf(cluster.port.reads.job(id));
      assert.ok(view.includes(`"ranking":${ranking},`), `${ranking}\n${view}`);
      assert.equal(JSON.parse(ranking).length, results.length);
    });
});
