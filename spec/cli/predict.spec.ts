import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { runTask } from '../../actors/worker/runners/mljs/run.ts';
import { parseTask } from '../../actors/worker/runners/mljs/task.ts';
import { zipFolder } from '../../bin/jobs/submit/zip-folder.ts';
import { readPredictions } from '../../machines/results/predictions.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { ROOT, run, start } from './cli-support.ts';
import { isOneSentence } from './serving.ts';

const GASOLINE = join(ROOT, 'examples/gasoline');
const MADE_BY = { job_id: 'job_of_ann', task_id: 'task_of_ann', attempt: 1 };

/** A model file, and spectra without reference values beside it. */
async function bench(t: TestContext) {
  const folder = await temporaryDirectory(t);
  const at = (name: string) => join(folder, name);
  const pipeline = at('pls.json');
  await writeFile(pipeline, JSON.stringify(['snv', { pls: { components: 3 } }]));
  const path = (of: string) => ({ mode: 'path', path: of });
  const hooks = { log: () => {}, progress: () => {} };
  runTask(
    parseTask({ pipeline: path(pipeline), dataset: path(GASOLINE), task: MADE_BY }),
    folder,
    '0.1.0',
    hooks,
  );
  const text = await readFile(join(GASOLINE, 'train_x.csv'), 'utf8');
  const lines = text.trim().split(/\r?\n/);
  await writeFile(at('new.csv'), `${lines.slice(0, 31).join('\n')}\n`);
  await writeFile(at('short.csv'), lines.map((line) => line.split(',').slice(1).join(',')).join('\n'));
  return { folder, at, model: at('best_model.json'), pipeline };
}

/** A zip of files. */
async function bundleAt(path: string, files: Record<string, string>): Promise<void> {
  await mkdir(`${path}-files`);
  for (const [name, content] of Object.entries(files)) await writeFile(join(`${path}-files`, name), content);
  await zipFolder(`${path}-files`, path);
}

/** Of samples by a table of the terminal. */
const samplesIn = (stdout: string) =>
  stdout.split('\n').filter((line) => /^\d+ +octane +\d\d\.\d\d/.test(line));

describe('jqctl predict --local', () => {
  it('shows the first predictions, and writes all of them where they are wanted', async (t) => {
    const { at, model } = await bench(t);
    const shown = await run(['predict', '--local', model, at('new.csv')]);
    assert.equal(shown.code, 0, shown.stderr);
    assert.equal(samplesIn(shown.stdout).length, 20);
    assert.match(shown.stdout, /and 10 more; --out FILE has all of them\n$/);
    const saved = await run(['predict', '--local', model, at('new.csv'), '--out', at('p.csv')]);
    assert.deepEqual([saved.code, saved.stdout], [0, '']);
    const rows = readPredictions(await readFile(at('p.csv'), 'utf8'));
    assert.equal(rows.length, 30);
    const printed = await run(['predict', '--local', model, at('new.csv'), '--out', '-']);
    assert.equal(printed.stdout, await readFile(at('p.csv'), 'utf8'));
    const {
      predictions,
      metrics,
      model: about,
    } = JSON.parse((await run(['predict', '--local', model, at('new.csv'), '--json'])).stdout);
    assert.deepEqual(metrics, {});
    assert.deepEqual(about.task, MADE_BY);
    assert.deepEqual(
      predictions.map((one: { prediction: number }) => one.prediction),
      rows.map(({ prediction }) => Number(prediction)),
    );
  });

  it('measures where there are reference values', async (t) => {
    const { at, model } = await bench(t);
    const { stdout } = await run(['predict', '--local', model, GASOLINE]);
    assert.match(stdout, /^sample +target +predicted +measured$/m);
    const line = /^60 reference values: rmse 0\.\d+, r2 0\.\d+, bias [-\d.e]+, mae 0\.\d+$/m;
    assert.match(stdout, line);
    const saved = await run(['predict', '--local', model, GASOLINE, '--out', at('p.csv')]);
    assert.match(saved.stderr, line, 'also where the predictions are written elsewhere');
  });

  it('refuses in one sentence what cannot be predicted, or not here', async (t) => {
    const { at, model } = await bench(t);
    const refused = async (argv: string[], words: RegExp) => {
      const { code, stdout, stderr } = await run(['predict', '--local', ...argv]);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, words);
    };
    await refused(
      [model, at('short.csv')],
      /lie on 902 to 1700 nm \(400 columns\), those of the model on 900 to 1700 nm/,
    );
    await refused([at('model.json'), at('new.csv')], /there is no file .*model\.json/);
    await refused([model], /name the dataset, too/);
    await refused([model, at('new.csv'), '--task', 'x'], /--task needs a server/);
    await refused([model, at('new.csv'), '--out', '-', '--json'], /both write to standard output/);
    await refused([model, at('new.csv'), '--out', join(at('none'), 'p.csv')], /cannot write/);
    await writeFile(at('m.n4a'), 'PK');
    await refused([at('m.n4a'), at('new.csv')], /is a bundle of nirs4all, which takes its Python/);
    await refused(
      [model, at('new.csv'), '--interpolate', '--param', 'header=7'],
      /params\.header must be true or false/,
    );
  });
});

describe('jqctl model show', () => {
  it('tells of a file what it is and what it was made of', async (t) => {
    const { model } = await bench(t);
    const { code, stdout } = await run(['model', 'show', model]);
    assert.equal(code, 0);
    for (const words of [
      /library +mljs 0\.1\.0$/m,
      /model +PLS regression, 3 components$/m,
      /before it +snv$/m,
      /spectra +900 to 1700 nm, 401 columns$/m,
      /predicts +octane$/m,
      /made of +60 samples$/m,
      /data +sha256 [0-9a-f]{64}$/m,
      /made by +task task_of_ann of job job_of_ann, attempt 1$/m,
      /metrics +best_rmse 0\.\d+/m,
    ]) {
      assert.match(stdout, words);
    }
    const said = JSON.parse((await run(['model', 'show', model, '--json'])).stdout);
    assert.deepEqual([said.library, said.axis.values.length, said.task], ['mljs', 401, MADE_BY]);
  });

  it('tells what it can of models that say less', async (t) => {
    const { at, model } = await bench(t);
    const { about: _, ...earlier } = JSON.parse(await readFile(model, 'utf8'));
    await writeFile(at('old.json'), JSON.stringify(earlier));
    const old = (await run(['model', 'show', at('old.json')])).stdout;
    assert.match(old, /spectra +900 to 1700 nm, 401 columns$/m);
    assert.doesNotMatch(old, /made by|sha256/);
    const manifest = { bundle_format_version: '1.0', nirs4all_version: '1.4.0' };
    await bundleAt(at('old.n4a'), { 'manifest.json': JSON.stringify(manifest) });
    assert.match((await run(['model', 'show', at('old.n4a')])).stdout, /library +nirs4all 1\.4\.0$/m);
  });

  it('passes over what a file says in another shape than it should', async (t) => {
    const { at, model } = await bench(t);
    const whole = JSON.parse(await readFile(model, 'utf8'));
    const odd = {
      axis: { values: [] },
      targets: 7,
      training: null,
      task: 'me',
      metrics: [1],
      preprocessing: 'snv',
    };
    await writeFile(at('odd.json'), JSON.stringify({ ...whole, about: { ...whole.about, ...odd } }));
    const { code, stdout } = await run(['model', 'show', at('odd.json')]);
    assert.equal(code, 0);
    assert.match(stdout, /library +mljs 0\.1\.0$/m);
    assert.doesNotMatch(stdout, /predicts|made of|made by|before it|wavelengths to/);
  });

  it('says in one sentence what is no model', async (t) => {
    const { at } = await bench(t);
    await bundleAt(at('other.n4a'), { 'a.txt': 'a' });
    for (const name of ['new.csv', 'pls.json', 'other.n4a'])
      assert.match((await run(['model', 'show', at(name)])).stderr, /is no model that says what it is/);
    isOneSentence(await run(['model', 'show', at('none.json')]).then(withoutHint), /there is no file/);
  });
});

const withoutHint = ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
  ...{ code, stdout },
  stderr: `${stderr.split('\n')[0]}\n`,
});

describe('jqctl predict', () => {
  it('goes from a sweep to the predictions of new spectra', async (t) => {
    const { at, model, pipeline, folder } = await bench(t);
    const server = await startTestServer(t);
    const state = join(await temporaryDirectory(t), 'state');
    const worker = start('jq-worker', ['--state', state, '--server', server.url, '--json']);
    t.after(async () => {
      worker.child.kill('SIGTERM');
      await worker.outcome;
    });
    const env = { JQ_SERVER: server.url };
    const ctl = (...argv: string[]) => run(argv, { env });
    await until('the worker', () => worker.said.stdout.includes('"started"'));
    const sweep = ['--lib', 'mljs', '--pipeline', pipeline, '--dataset', GASOLINE, '--name', 'sweep'];
    assert.equal((await ctl('run', ...sweep, '--upload', '--wait')).code, 0);
    const local = await run(['predict', '--local', model, at('new.csv'), '--out', '-']);

    const nowhere = await ctl('predict', 'sweep', at('new.csv'), '--out', join(at('mistyped'), 'p.csv'));
    isOneSentence(await withoutHint(nowhere), /cannot write .*p\.csv: there is no folder .*mistyped/);
    assert.deepEqual(await stat(at('mistyped')).catch(() => null), null);
    assert.equal((await server.client.call('listJobs')).length, 1, 'nothing is computed for it');

    const asked = await ctl('predict', 'sweep', at('new.csv'), '--out', at('p.csv'));
    assert.equal(asked.code, 0, asked.stderr);
    assert.match(asked.stderr, /predictions are in .*p\.csv/);
    assert.equal(await readFile(at('p.csv'), 'utf8'), local.stdout, 'here and there the same');
    const { stdout: job } = await ctl('status', '--last');
    assert.match(job, /type +mljs\.predict$/m);
    assert.match(job, /^job +job_\w+ +new\.csv by best of sweep$/m);

    const archive = join(folder, 'archive');
    assert.equal((await ctl('export', '--last', '--to', archive)).code, 0);
    const report = await readFile(join(archive, 'report.html'), 'utf8');
    assert.match(report, /<h2>Predictions<\/h2>/);
    assert.doesNotMatch(report, /<h2>Ranking<\/h2>/, 'without reference values there is none');
    assert.match(report, /<pre>type: mljs\.predict\n/, 'the specification as YAML');
    assert.match(
      report,
      /<th class="n">predicted<\/th><\/tr><\/thead>\n<tbody><tr><th><bdi>/,
      'a sample a line',
    );
    assert.match(report, /<a href="[^"]*predictions\.csv">all of them, with every digit</);
    const elsewhere = await startTestServer(t);
    const imported = await run(['import', archive], { env: { JQ_SERVER: elsewhere.url } });
    assert.equal(imported.code, 0, imported.stderr);
    const id = imported.stdout.trim();
    const taken = JSON.parse(await elsewhere.client.callText('getJobRequest', { params: { id } }));
    assert.deepEqual(
      [taken.model.kind, taken.model.name, taken.model.job_id],
      ['artifact', 'best of sweep', undefined],
      'the model comes from the folder: the job that made it is not known there',
    );

    const ofTask = await ctl('predict', '--last', at('new.csv'), '--wait');
    assert.equal(ofTask.code, 2, 'the last job predicts');
    assert.match(ofTask.stderr, /predicts and has made no model/);
    const byTask = await ctl('predict', 'sweep', at('new.csv'), '--task', 'pls', '--out', '-');
    assert.equal(byTask.stdout, local.stdout, 'standard output has the predictions and nothing else');
    assert.match(byTask.stderr, /^status +succeeded$/m, 'how the job went is told beside it');
    const named = async (type: string) =>
      (await server.client.call('listJobs', { query: { type, limit: 1 } }))[0]?.name;
    assert.equal(await named('mljs.predict'), 'new.csv by pls on gasoline of sweep');
    assert.equal((await ctl('artifacts', 'sweep', '--role', 'model', '--out', at('kept'))).code, 0);
    const [ofSweep = ''] = (await readdir(at('kept'), { recursive: true })).filter((name) =>
      /model\.json$/.test(name),
    );
    assert.equal((await ctl('predict', join(at('kept'), ofSweep), at('new.csv'), '--wait')).code, 0);
    assert.equal(
      await named('mljs.predict'),
      'new.csv by model of sweep',
      'the model says which job made it',
    );
    const byFile = await ctl('predict', model, GASOLINE, '--wait');
    assert.match(byFile.stdout, /^60 reference values: rmse/m);
    const other = await ctl('predict', model, at('new.csv'), '--lib', 'nirs4all');
    assert.deepEqual([other.code, other.stdout], [2, '']);
    assert.match(other.stderr, /is a model of mljs, and nirs4all cannot predict with it/);
    assert.doesNotMatch(other.stderr, /uploaded/);
    const refused = await ctl('predict', 'sweep', at('short.csv'), '--wait');
    assert.deepEqual([refused.code, refused.stdout], [2, '']);
    assert.match(refused.stderr, /400 columns\), those of the model on 900 to 1700 nm \(401 columns\)/);
    assert.match(refused.stderr, /nothing was uploaded/);

    const [best] = JSON.parse((await ctl('artifacts', 'sweep', '--role', 'best_model', '--json')).stdout);
    const shown = await ctl('model', 'show', 'sweep');
    assert.equal(shown.code, 0, shown.stderr);
    assert.ok(shown.stdout.startsWith(best.id), shown.stdout);
    assert.match(shown.stdout, /made by +task task_\w+ of job job_\w+, attempt 1/);
    assert.equal((await ctl('predict', best.id, at('new.csv'), '--out', join(folder, 'by-id.csv'))).code, 0);
    assert.equal(await readFile(join(folder, 'by-id.csv'), 'utf8'), local.stdout);
  });

  it('says what a job that still runs lacks', async (t) => {
    const { at } = await bench(t);
    const server = await startTestServer(t);
    const ctl = (...argv: string[]) => run(argv, { env: { JQ_SERVER: server.url } });
    await ctl('run', '--lib', 'mljs', '--pipeline', '/p.yaml', '--dataset', '/d', '--name', 'sweep');
    const { code, stderr } = await ctl('predict', 'sweep', at('new.csv'));
    assert.equal(code, 2);
    assert.match(stderr, /is queued; its best model is known when it has ended: wait for it/);
  });
});
