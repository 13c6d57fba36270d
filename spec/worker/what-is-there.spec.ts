import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { suggestPaths, suggestPathsSync } from '../../actors/shared/suggest-paths.ts';
import { existingPath } from '../../actors/worker/inputs/paths.ts';
import { readDataset } from '../../actors/worker/runners/mljs/dataset.ts';
import { readPipeline } from '../../actors/worker/runners/mljs/pipeline.ts';
import { run } from '../cli/cli-support.ts';
import { temporaryFolder } from './folder.ts';

async function shelf(t: Parameters<typeof temporaryFolder>[0], ...names: string[]): Promise<string> {
  const folder = await temporaryFolder(t);
  for (const name of names) await mkdir(join(folder, name));
  return folder;
}

describe('an error about something missing names what there is', () => {
  it('the name that was probably meant, or else the first names in the folder', async (t) => {
    const folder = await shelf(t, 'gasoline', 'corn', '.hidden');
    await writeFile(join(folder, 'Thumbs.db'), '');
    const expected = {
      gasolin: `, did you mean '${folder}/gasoline'?`,
      Corn: `, did you mean '${folder}/corn'?`,
      soil: `; ${folder} has corn, gasoline`,
      'soil/deeper': '',
    };
    for (const [name, words] of Object.entries(expected)) {
      assert.equal(await suggestPaths(join(folder, name)), words);
      assert.equal(suggestPathsSync(join(folder, name)), words);
    }
    assert.equal(await suggestPaths(join(folder, 'corn', 'x')), `; ${folder}/corn is empty`);
  });

  it('no more names than a person reads', async (t) => {
    const folder = await shelf(t, ...Array.from({ length: 9 }, (_, i) => `set-${i}-${'abcdefghi'[i]}`));
    assert.match(await suggestPaths(join(folder, 'zzz')), /; .* has set-0-a, .*set-4-e and 4 more$/);
  });

  it('on a worker, by the runner, by check and before an upload', async (t) => {
    const folder = await shelf(t, 'gasoline');
    await writeFile(join(folder, 'pls.yaml'), '[{ pls: { components: 2 } }]');
    const [dataset, pipeline] = [join(folder, 'gasolin'), join(folder, 'psl.yaml')];
    const meant = /did you mean '.*\/(gasoline|pls\.yaml)'\?/;
    await assert.rejects(existingPath(dataset, 'the dataset', 'any'), meant);
    await assert.rejects(existingPath(pipeline, 'the pipeline', 'file'), meant);
    assert.throws(() => readDataset(dataset), meant);
    assert.throws(() => readPipeline(pipeline), meant);
    const check = await run(['check', dataset]);
    assert.deepEqual([check.code, meant.test(check.stderr)], [2, true], check.stderr);
    const nowhere = ['--server', 'http://127.0.0.1:1'];
    const job = await run(['submit', join(folder, 'psl.yaml'), ...nowhere]);
    assert.deepEqual([job.code, meant.test(job.stderr)], [2, true], job.stderr);
  });

  it('before an upload, of a path that counts from the job file', async (t) => {
    const folder = await shelf(t, 'gasoline');
    const job = { type: 'mljs.run', pipeline: { kind: 'inline_json', inline: [] } };
    const dataset = { kind: 'shared_path', path: 'gasolin' };
    await writeFile(join(folder, 'job.json'), JSON.stringify({ ...job, dataset }));
    const argv = ['submit', join(folder, 'job.json'), '--upload', '--server', 'http://127.0.0.1:1'];
    const { code, stderr } = await run(argv);
    assert.equal(code, 2);
    assert.match(stderr, /there is no .*gasolin.* to upload, did you mean '.*\/gasoline'\?/);
  });
});
