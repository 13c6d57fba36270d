import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { selectionLines } from '../../machines/ranking/selected.ts';
import type { SelectionView } from '../../machines/schema/views.ts';
import { jobOf } from './played-worker.ts';
import { scene } from './scene.ts';

const at = (changes: Partial<SelectionView>): SelectionView => ({
  ...{ dataset: 'corn', num_left: 0, task_id: null, metric: null, value: null },
  ...{ refit: null, refit_task_id: null, error: null },
  ...changes,
});

describe('a job that selects on the command line', () => {
  it('says for each dataset which variant was selected by which metric, and what becomes of it', () => {
    const chosen = { task_id: 'task_1', metric: 'cv_rmse', value: 0.123456 };
    const entry = { task_id: 'task_1', dataset: 'corn', pipeline: 'pls', metrics: {} };
    const lines = (...selections: SelectionView[]) => selectionLines({ selections, ranking: [entry] });
    assert.deepEqual(lines(at({ num_left: 1 })), ['not yet, 1 variant left']);
    assert.deepEqual(lines(at({ ...chosen, refit: 'none' })), ['pls by cv_rmse 0.1235']);
    assert.deepEqual(lines(at({ ...chosen, refit: 'queued' })), [
      'pls by cv_rmse 0.1235, which is being refitted',
    ]);
    assert.deepEqual(lines(at({ ...chosen, refit: 'failed' }), at({ dataset: 'rye', error: 'none' })), [
      'corn: pls by cv_rmse 0.1235, whose refit failed',
      'rye: none',
    ]);
    assert.deepEqual(lines(...Array(22).fill(at({ num_left: 3 }))).at(-1), 'and 2 more datasets');
    assert.deepEqual(selectionLines({ ranking: [] }), []);
  });

  it('shows its phase, its winner and where the model is, and distinguishes the refit from the variant', async (t) => {
    const { server, ctl, play } = await scene(t);
    const worker = await play();
    const text = JSON.stringify({ ...JSON.parse(jobOf('a.yaml', 'b.yaml')), select: {} });
    const { id } = await server.client.call('submitJob', { text });
    for (const cv_rmse of [2, 1]) await worker.complete(await worker.take(), { cv_rmse });
    const during = await ctl('status', id);
    assert.match(during.stdout, /status +(running|queued)/);
    assert.match(during.stdout, /selected +b by cv_rmse 1, which is being refitted/);
    const refit = await worker.take();
    assert.match((await ctl('status', id)).stdout, /status +running, refitting/);
    await worker.complete(refit, { cv_rmse: 1 });
    const after = await ctl('status', id);
    assert.match(after.stdout, /selected +b by cv_rmse 1, refitted/);
    const logs = await ctl('logs', id);
    assert.match(logs.stdout + logs.stderr, /refit of b/);
    assert.match(logs.stdout + logs.stderr, /is the best variant on data\/corn by cv_rmse: 1/);
  });

  it('is submitted anew in part only where its pipelines are in the job', async (t) => {
    const { server, ctl, play } = await scene(t);
    const worker = await play();
    const job = JSON.parse(jobOf('a.yaml', 'b.yaml'));
    const explicit = await server.client.call('submitJob', { text: JSON.stringify({ ...job, select: {} }) });
    await worker.fail(await worker.take(), 'broken');
    await worker.complete(await worker.take(), { cv_rmse: 1 });
    await worker.fail(await worker.take(), 'no refit');
    const again = await ctl('resubmit', explicit.id, '--only', 'failed', '--json');
    const { id } = JSON.parse(again.stdout);
    const request = JSON.parse(await server.client.callText('getJobRequest', { params: { id } }));
    assert.deepEqual([request.pipelines, request.select], [[{ kind: 'path', path: 'a.yaml' }], {}]);
    const { pipelines, ...others } = job;
    const held = { ...others, pipeline: pipelines[0], decompose: 'variants' };
    const hidden = await server.client.call('submitJob', { text: JSON.stringify(held) });
    const refused = await ctl('resubmit', hidden.id, '--only', 'failed');
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /variants that its library found in one pipeline/);
    assert.equal((await ctl('resubmit', hidden.id)).code, 0);
  });
});
