import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { describeWithLibrary } from './python.ts';
import { GASOLINE, pipelineFile, type Report, run, scratch } from './support.ts';
import { WarmRunners } from './warm.ts';

/** A user's module that has nirs4all read other numbers than there are. */
const DOUBLES = `from nirs4all.data import config
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import KFold

read = config.handle_data


def doubled(*given):
    x, y, *rest = read(*given)
    return (x, y * 2, *rest)


config.handle_data = doubled


def build_pipeline():
    return [KFold(3), {"model": PLSRegression(2)}]
`;

describeWithLibrary('the tables of a dataset', (runner) => {
  it('are read once for all tasks of a host, and again when they have changed, with what a cold task makes of them', async () => {
    const [state, dataset] = [scratch(), join(scratch(), 'gasoline')];
    cpSync(GASOLINE, dataset, { recursive: true });
    const userCode = scratch();
    writeFileSync(join(userCode, 'doubles.py'), DOUBLES);
    const fresh = new WarmRunners(state);
    const task = async (way: 'warm' | 'cold', { exports = false, doubles = false } = {}) => {
      const folder = scratch();
      const at = (name: string) => join(folder, name);
      for (const name of ['workspace', 'output']) mkdirSync(at(name));
      const data = { mode: 'path', path: dataset };
      const pipeline = doubles
        ? { mode: 'entrypoint', entrypoint: 'doubles', sys_path: [userCode] }
        : { mode: 'path', path: pipelineFile('scaled-pls') };
      const outputs = { export_best_model: exports };
      writeFileSync(at('spec.json'), JSON.stringify({ pipeline, dataset: data, params: {}, outputs }));
      const args = ['--task-file', at('spec.json'), '--workspace', at('workspace')];
      args.push('--output-dir', at('output'), '--result-file', at('result.json'));
      const { code, stderr } =
        way === 'warm'
          ? await fresh.run(runner, args, folder)
          : await run([...runner.command, ...args], '', at('workspace'));
      assert.deepEqual([code, stderr], [0, '']);
      const { metrics, extra } = JSON.parse(readFileSync(at('result.json'), 'utf8')) as Report;
      const files = readdirSync(at('output')).filter((name) => !name.endsWith('.n4a'));
      return [
        metrics,
        extra.warnings,
        files.sort().map((name) => [name, readFileSync(at(join('output', name)), 'utf8')]),
      ];
    };
    const place = join(state, 'warm-kept');
    const kept = () =>
      (existsSync(place) ? readdirSync(place, { recursive: true, withFileTypes: true }) : [])
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => [name, statSync(join(parentPath, name)).mtimeMs])
        .sort();
    try {
      // What users' code makes of the readers is neither for others nor hindered.
      const doubled = await task('cold', { doubles: true });
      assert.deepEqual(await task('warm', { doubles: true }), doubled);
      assert.deepEqual(kept(), []);
      const cold = await task('cold');
      assert.deepEqual(await task('warm'), cold);
      // The look, the picture of the spectra, and the numbers of each part.
      const once = kept();
      assert.equal(once.length, 4);
      assert.deepEqual(await task('warm'), cold);
      assert.deepEqual(await task('warm', { exports: true }), await task('cold', { exports: true }));
      assert.deepEqual(await task('warm', { doubles: true }), doubled);
      assert.deepEqual(kept(), once);

      const values = join(dataset, 'Ycal.csv');
      const { size, atime, mtime } = statSync(values);
      const text = readFileSync(values, 'utf8');
      const other = text.replace(/8(?=\d*\n)/, '9');
      assert.notEqual(other, text);
      writeFileSync(values, other);
      utimesSync(values, atime, mtime);
      assert.equal(statSync(values).size, size);
      const [then, now] = [cold, await task('warm')];
      assert.notDeepEqual(now, then);
      assert.deepEqual(now, await task('cold'));
    } finally {
      await fresh.close();
    }
  });
});
