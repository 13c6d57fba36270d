import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matrixOf, placed, runTimes } from '../../machines/results/overview.ts';
import { aJob, aTask } from '../cli/fake-server.ts';

const entry = (pipeline: string, dataset: string, best_rmse: number) => ({
  ...{ task_id: 'task_1', pipeline, dataset, metrics: { best_rmse } },
});

describe('the results of a job as pictures', () => {
  it('have pipelines by datasets, each as good as it is among those on the same dataset', () => {
    const ranking = [
      entry('pls', 'corn', 1),
      entry('snv', 'corn', 3),
      entry('pls', 'rye', 100),
      entry('snv', 'rye', 50),
    ];
    const { aggregate } = aJob({}, { ranking });
    const { datasets, rows } = matrixOf(placed(aggregate), 'best_rmse');
    assert.deepEqual(datasets, ['corn', 'rye']);
    assert.deepEqual(rows, [
      {
        pipeline: 'pls',
        cells: [
          { value: 1, share: 1 },
          { value: 100, share: 0 },
        ],
      },
      {
        pipeline: 'snv',
        cells: [
          { value: 3, share: 0 },
          { value: 50, share: 1 },
        ],
      },
    ]);
    const part = matrixOf(placed(aJob({}, { ranking: ranking.slice(0, 3) }).aggregate), 'best_rmse');
    assert.deepEqual(part.rows[1]?.cells, [{ value: 3, share: 0 }, null]);
  });

  it('have how long each attempt ran that ended a task, the longest first; what was reused did not run', () => {
    const at = (seconds: number, over: Parameters<typeof aTask>[0] = {}) =>
      aTask({ started_at: 100, updated_at: 100 + seconds, ...over });
    const reused_from = { job_id: 'job_0', task_id: 'task_0' };
    const times = runTimes([
      at(1),
      at(5, { status: 'failed' }),
      at(9, { reused_from }),
      at(7, { status: 'running' }),
    ]);
    assert.deepEqual(times, [
      { name: 'pls on gasoline', seconds: 5, failed: true },
      { name: 'pls on gasoline', seconds: 1, failed: false },
    ]);
  });
});
