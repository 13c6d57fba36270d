import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { run } from '../cli/cli-support.ts';
import { describeWithLibrary } from './python.ts';
import { GASOLINE, pipelineFile, runTask, scratch } from './support.ts';

/** The gasoline data with every file changed. */
function gasoline(change: (text: string, name: string) => string): string {
  const folder = scratch();
  for (const name of readdirSync(GASOLINE)) {
    writeFileSync(join(folder, name), change(readFileSync(join(GASOLINE, name), 'utf8'), name));
  }
  return folder;
}

/** As a German spreadsheet exports it. */
const german = (text: string) => text.replaceAll(',', ';').replaceAll('.', ',');

describeWithLibrary('jqctl check --lib nirs4all', ({ command: [python = ''] }) => {
  const check = (dataset: string, ...more: string[]) =>
    run(['check', dataset, '--lib', 'nirs4all', '--python', python, ...more]);

  it('reads a dataset with the readers of nirs4all', async () => {
    const { code, stdout } = await check(GASOLINE, '--json');
    assert.equal(code, 0);
    const { samples, test_samples, variables, axis, targets } = JSON.parse(stdout);
    assert.deepEqual([samples, test_samples, variables], [45, 15, 401]);
    assert.deepEqual([axis.from, axis.to], [900, 1700]);
    assert.deepEqual([targets[0].min.toFixed(2), targets[0].max.toFixed(2)], ['84.50', '89.60']);
    assert.match((await check(GASOLINE)).stdout, /can be read by nirs4all[\s\S]*[\u2801-\u28ff]/);
  });

  it('refuses what a run would refuse, and shows what the files look like: exit code 2', async () => {
    const short = gasoline((text, name) => (name === 'Ycal.csv' ? text.replace(/\n[^\n]+\n$/, '\n') : text));
    const { code, stderr } = await check(short);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^error: 45 rows of spectra \(Xcal\.csv, below its header "900;902;904…"\), 44 of reference values \(Ycal\.csv/m,
    );
  });

  it('says what lies where a dataset is missing, or what a folder holds instead', async () => {
    const folder = gasoline((text) => text);
    const typo = await check(`${folder}s`);
    assert.equal(typo.code, 2);
    assert.match(typo.stderr, /^error: dataset not found: .*s, did you mean '.*'\?$/m);
    const other = scratch();
    writeFileSync(join(other, 'spectra.xlsx'), 'x');
    assert.match((await check(other)).stderr, /\(the folder has spectra\.xlsx\)$/m);
  });

  it('ignores what file managers leave behind, which nirs4all would take for spectra', async () => {
    const folder = gasoline((text) => text);
    for (const name of ['._Xcal.csv', '._Ycal.csv', 'Thumbs.db'])
      writeFileSync(join(folder, name), '\u0000;;,');
    const { code, stdout, stderr } = await check(folder, '--json');
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).samples, 45);
  });

  it('says what it needs where the interpreter lacks the library: exit code 2', async () => {
    const { code, stderr } = await run(['check', GASOLINE, '--lib', 'nirs4all', '--python', '/no/python']);
    assert.equal(code, 2);
    assert.match(stderr, /nirs4all with a --python that has it/);
  });
});

describeWithLibrary('a dataset with semicolons and decimal commas', (runner) => {
  it('gives the same scores as one with commas and decimal points', async () => {
    const rmseOf = async (dataset: string) => {
      const { code, stderr, folder } = await runTask(runner, {
        pipeline: pipelineFile('scaled-pls'),
        dataset,
      });
      assert.equal(code, 0, stderr);
      return JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8')).metrics.best_rmse;
    };
    assert.equal(await rmseOf(gasoline(german)), await rmseOf(GASOLINE));
  });
});
