import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeWithLibrary } from './python.ts';

// The specifications of tasks, each forked from a host that has loaded nirs4all.
process.env.JQ_SPEC_RUNNER = 'warm';
const { GASOLINE, pipelineFile, runTask, warm, writePipeline } = await import('./support.ts');
for (const file of ['./faults.spec.ts', './parity.spec.ts', './kinds.spec.ts']) await import(file);

describeWithLibrary('a task of nirs4all', (runner) => {
  const good = { pipeline: pipelineFile('scaled-pls'), dataset: GASOLINE };

  it('is forked, once its host has loaded what it imports', async () => {
    const { forked } = warm;
    for (let i = 0; i < 2; i++) assert.equal((await runTask(runner, good)).code, 0);
    assert.equal(warm.forked, forked + 2);
  });

  it('starts cold where it starts processes of its own, or its pipeline names what survives no fork', async () => {
    const torch = writePipeline([{ class: 'torch.nn.Linear' }]);
    for (const [task, reason] of [
      [{ ...good, inner_n_jobs: 2 }, 'it starts processes of its own (inner_n_jobs)'],
      [{ ...good, params: { n_jobs: 2 } }, 'it starts processes of its own (inner_n_jobs)'],
      [{ ...good, pipeline: torch }, 'its pipeline names torch'],
    ] as const) {
      await runTask(runner, task);
      assert.equal(warm.cold.at(-1), reason);
    }
  });
});
