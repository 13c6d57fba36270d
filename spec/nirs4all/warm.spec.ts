import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { describeWithLibrary } from './python.ts';
import { GASOLINE, pipelineFile, runTask, scratch, warm, writePipeline } from './support.ts';
import { WarmRunners } from './warm.ts';

describeWithLibrary('a task of nirs4all', (runner) => {
  const good = { pipeline: pipelineFile('scaled-pls'), dataset: GASOLINE };

  it('is forked, once its host has loaded what it imports', async () => {
    const { forked } = warm;
    for (let i = 0; i < 2; i++) assert.equal((await runTask(runner, good)).code, 0);
    assert.equal(warm.forked, forked + 2);
  });

  it('finds nearly all that it imports in a host that has just been started and knows of no earlier imports', async () => {
    const [state, folder] = [scratch(), scratch()];
    for (const name of ['workspace', 'output']) mkdirSync(join(folder, name));
    const [dataset, pipeline] = [GASOLINE, good.pipeline].map((path) => ({ mode: 'path', path }));
    writeFileSync(join(folder, 'spec.json'), JSON.stringify({ pipeline, dataset, params: {} }));
    const files = ['--task-file', join(folder, 'spec.json'), '--workspace', join(folder, 'workspace')];
    const results = ['--output-dir', join(folder, 'output'), '--result-file', join(folder, 'result.json')];
    const fresh = new WarmRunners(state);
    try {
      assert.equal((await fresh.run(runner, [...files, ...results], folder)).code, 0);
      assert.deepEqual([fresh.forked, fresh.cold], [1, []]);
      const kept = readdirSync(join(state, 'warm')).map((name) =>
        readFileSync(join(state, 'warm', name), 'utf8'),
      );
      const learned = kept.flatMap((text) => JSON.parse(text).modules as string[]);
      // Without a list of what runs begin with there are some 190.
      assert.ok(learned.length < 60, learned.join(' '));
    } finally {
      await fresh.close();
    }
  });

  it('starts cold where it starts processes of its own, or its pipeline names a library that does not survive a fork', async () => {
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
