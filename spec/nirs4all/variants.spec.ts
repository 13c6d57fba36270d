import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import type { JobView, TaskView } from '../../machines/schema/views.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { startTestWorker } from '../worker/support.ts';
import { describeWithLibrary } from './python.ts';
import { GASOLINE, REPOSITORY, runTask, scratch, writePipeline } from './support.ts';

/** Predicts the validation samples by each of the models that are named, one JSON list a model. */
const PREDICT = `
import json, sys, numpy, nirs4all
x = numpy.genfromtxt(sys.argv[1], delimiter=";", skip_header=1)
out, sys.stdout = sys.stdout, sys.stderr
lists = [numpy.ravel(nirs4all.predict(model, x).y_pred).tolist() for model in sys.argv[2:]]
json.dump(lists, out)
`;

async function ended(server: TestServer, text: string): Promise<{ job: JobView; tasks: TaskView[] }> {
  const { id } = await server.client.call('submitJob', { text });
  const job = await until(
    'the job to end',
    async () => {
      const view = await server.client.call('getJob', { params: { id } });
      return ['succeeded', 'failed'].includes(view.status) && view;
    },
    300,
  );
  return { job, tasks: await server.client.call('listJobTasks', { params: { id } }) };
}

describeWithLibrary('a job of variants does what one nirs4all.run of the same pipeline does', (runner) => {
  it('to the last digit: the winner, its scores, and what its model predicts', async (t) => {
    const server = await startTestServer(t);
    for (const name of ['one', 'two']) await startTestWorker(t, server, { name, runners: [runner] });
    const variants = parse(await readFile(join(REPOSITORY, 'examples/nirs4all/variants.yaml'), 'utf8'));
    const { decompose: _, select: __, ...one } = variants;
    const selected = await ended(server, JSON.stringify(variants));
    const direct = await ended(server, JSON.stringify(one));
    assert.deepEqual([selected.job.status, direct.job.status], ['succeeded', 'succeeded']);
    const refit = selected.tasks.find(({ role }) => role === 'refit')?.result;
    const whole = direct.tasks[0]?.result;
    assert.deepEqual(refit?.metrics, whole?.metrics);
    assert.deepEqual(
      (refit?.extra as { best: unknown } | undefined)?.best,
      (whole?.extra as { best: unknown } | undefined)?.best,
    );
    const { ranking } = selected.job.aggregate;
    assert.match(ranking[0]?.pipeline_steps ?? '', /^StandardNormalVariate/);
    // By the error on the validation samples, which is to test it, another one would win.
    const byTest = ranking.toSorted((a, b) => Number(a.metrics.best_rmse) - Number(b.metrics.best_rmse));
    assert.match(byTest[0]?.pipeline_steps ?? '', /^SavitzkyGolay/);
    const models = [];
    for (const { job } of [selected, direct]) {
      const { body } = await server.client.download(job.aggregate.best_model_artifact_id ?? '');
      const path = join(scratch(), 'best_model.n4a');
      await writeFile(path, await buffer(body));
      models.push(path);
    }
    const [python = ''] = runner.command;
    const args = ['-c', PREDICT, join(GASOLINE, 'Xval.csv'), ...models];
    const { stdout } = await promisify(execFile)(python, args, { maxBuffer: 1e8 });
    const [ours, theirs] = JSON.parse(stdout) as number[][];
    assert.ok((ours?.length ?? 0) > 10);
    assert.deepEqual(ours, theirs);
  });

  it('and refuses a pipeline that makes more variants than the limit, which it names', async () => {
    const pipeline = writePipeline(
      stringify({
        pipeline: [
          {
            model: { class: 'sklearn.cross_decomposition.PLSRegression' },
            n_components: { _range_: [1, 12_000] },
          },
        ],
      }),
      'many.yaml',
    );
    const task = { pipeline, dataset: GASOLINE, expand: { at_most: 10_000 } };
    const { code, stderr } = await runTask(runner, task as never);
    assert.equal(code, 2);
    assert.match(stderr, /^Error: .*12000 configurations, exceeding the limit of 10000/);
  });
});
