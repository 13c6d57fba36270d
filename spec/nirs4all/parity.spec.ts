import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { before, it } from 'node:test';
import { parse } from 'yaml';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { startTestWorker } from '../worker/support.ts';
import { describeWithLibrary } from './python.ts';
import {
  callDirectly,
  type DirectRun,
  type Ended,
  GASOLINE_COMMA,
  REPOSITORY,
  runTask,
  writePipeline,
} from './support.ts';

interface Matrix {
  pipelines: { path?: string; inline?: unknown }[];
  datasets: { path: string }[];
  params: Record<string, unknown>;
}

/** The loop that a matrix job stands for: a run of each pipeline, by its label. */
function serialLoop({ pipelines, datasets, params }: Matrix): Record<string, DirectRun> {
  const dataset = join(REPOSITORY, datasets[0]?.path ?? '');
  const runs = pipelines.map(({ path, inline }) => [
    path?.replace(/^.*\/|\.yaml$/g, '') ?? 'inline_json',
    { pipeline: path ? join(REPOSITORY, path) : writePipeline(inline), dataset, params },
  ]);
  return Object.fromEntries(runs);
}

// Neither the split nor the model has a seed of its own: only the random_state of the call makes it repeatable.
const UNSEEDED = [
  { class: 'sklearn.preprocessing.StandardScaler' },
  { class: 'sklearn.model_selection.ShuffleSplit', params: { n_splits: 3, test_size: 0.25 } },
  { model: { class: 'sklearn.ensemble.RandomForestRegressor', params: { n_estimators: 10 } } },
];

/** All that was calculated directly is asked of the metrics, and nothing else. */
function assertSame(metrics: Record<string, unknown>, scores: Record<string, unknown>, what?: string): void {
  const told = Object.fromEntries(Object.keys(scores).map((score) => [score, metrics[score]]));
  assert.deepEqual(told, scores, what);
}

const claim = 'the scores of a task are those of calling nirs4all directly, to the last digit';
describeWithLibrary(claim, (runner) => {
  let matrix: Matrix;
  let direct: Record<string, Record<string, number | null>>;
  let unseeded: Ended;

  before(async () => {
    matrix = parse(await readFile(join(REPOSITORY, 'examples/nirs4all/matrix.yaml'), 'utf8'));
    const pipeline = writePipeline(UNSEEDED);
    const params = { random_state: 7, refit: false, verbose: 0 };
    // nirs4all reads commas only when told so; the runner sees them by itself.
    const dataset = { folder: GASOLINE_COMMA, global_params: { delimiter: ',' } };
    const runs = { ...serialLoop(matrix), unseeded: { pipeline, dataset, params } };
    const outputs = { export_best_model: true };
    const task = { pipeline, dataset: GASOLINE_COMMA, params, outputs };
    [direct, unseeded] = await Promise.all([callDirectly(runner, runs), runTask(runner, task)]);
  });

  it('for a matrix of a scaler and PLS, a sweep, a forest and ridge over two workers, ranked', async (t) => {
    const server = await startTestServer(t);
    for (const name of ['one', 'two']) await startTestWorker(t, server, { name, runners: [runner] });
    const { id } = await server.client.call('submitJob', { text: JSON.stringify(matrix) });
    const atEnd = async () => {
      const view = await server.client.call('getJob', { params: { id } });
      return ['succeeded', 'failed'].includes(view.status) && view;
    };
    const { status, aggregate } = await until('the job to end', atEnd, 300);
    assert.deepEqual(aggregate.errors, {});
    assert.equal(status, 'succeeded');

    const ranking = aggregate.ranking as { pipeline: string; metrics: Record<string, unknown> }[];
    for (const { pipeline, metrics } of ranking) {
      const { num_predictions: _, ...scores } = direct[pipeline] ?? {};
      assertSame(metrics, scores, pipeline);
      assert.ok(Number(scores.best_rmse) > 0 && Number(scores.cv_rmse) > 0);
    }
    const errors = Object.keys(serialLoop(matrix)).map((name) => [name, Number(direct[name]?.best_rmse)]);
    const order = errors.sort(([, a], [, b]) => Number(a) - Number(b)).map(([name]) => name);
    assert.deepEqual(
      ranking.map(({ pipeline }) => pipeline),
      order,
    );
    const tasks = await server.client.call('listJobTasks', { params: { id } });
    assert.equal(new Set(tasks.map(({ worker_id }) => worker_id)).size, 2);
    const { body } = await server.client.download(aggregate.best_model_artifact_id ?? '');
    assert.equal((await buffer(body)).subarray(0, 2).toString(), 'PK');
  });

  it('for a split and a model without seeds of their own, by the random_state of the call', () => {
    assert.equal(unseeded.code, 0, unseeded.stderr);
    const { metrics, counts } = unseeded.result();
    const { num_predictions, ...scores } = direct.unseeded ?? {};
    assertSame(metrics, scores);
    assert.equal(counts.num_predictions, num_predictions);
    assert.ok(Number(scores.cv_rmse) > 0);
  });

  it('with scores that are null where there are no validation samples to measure them on', () => {
    const { best_score, best_rmse, best_mae } = unseeded.result().metrics;
    assert.deepEqual([best_score, best_rmse, best_mae], [null, null, null]);
  });

  it('and a run without refit has no model, which is no more than a warning', () => {
    assert.deepEqual(readdirSync(join(unseeded.folder, 'output')), ['predictions.csv', 'spectra.json']);
    const { model_file, warnings } = unseeded.result().extra;
    assert.equal(model_file, null);
    assert.match(warnings.join('\n'), /^no model was exported: .*$/);
    assert.ok(unseeded.stdout.includes(`warning: ${warnings[0]}`));
  });

  it('and with everything that nirs4all writes kept in the directory of the task', () => {
    const { folder } = unseeded;
    assert.deepEqual(readdirSync(folder).sort(), ['output', 'result.json', 'spec.json', 'workspace']);
    assert.deepEqual(readdirSync(join(folder, 'workspace')), ['nirs4all']);
    assert.ok(readdirSync(join(folder, 'workspace/nirs4all')).includes('store.sqlite'));
  });
});
