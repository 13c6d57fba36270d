import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { drawCurves } from '../../bin/terminal/curves.ts';
import { startTestServer, type TestServer, temporaryDirectory } from '../support/server.ts';
import { run } from './cli-support.ts';

const GASOLINE = 'examples/gasoline';
const HEADER = '900,902,904,906';
const ROWS = ['0.1,0.5,0.2,0.9', '0.3,0.1,0.8,0.2', '0.7,0.4,0.1,0.5', '0.2,0.6,0.3,0.1', '0.5,0.2,0.9,0.4'];

async function folderOf(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = join(await temporaryDirectory(t), 'data');
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

const pair = (t: TestContext, change: { x?: string; y?: string } = {}) =>
  folderOf(t, {
    'train_x.csv': change.x ?? [HEADER, ...ROWS].join('\n'),
    'train_y.csv': change.y ?? 'octane\n1\n3\n2\n5\n4\n',
  });

describe('check', () => {
  it('says without a server what a dataset holds, with a picture of its spectra', async () => {
    const { code, stdout, stderr } = await run(['check', GASOLINE]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^examples\/gasoline can be read by mljs$/m);
    assert.match(stdout, /^ {2}samples +60$/m);
    assert.match(stdout, /^ {2}variables 401, 900 nm to 1700 nm$/m);
    assert.match(stdout, /^ {2}target +octane, 83\.40 to 89\.60, mean 87\.18$/m);
    const picture = stdout.split('\n').filter((line) => /[\u2801-\u28ff]/.test(line));
    assert.equal(picture.length, 10);
    assert.match(stdout, /^ +900 nm +1700 nm\n +40 of the 60 spectra, one over the other$/m);
  });

  it('says the same as JSON, warnings included', async (t) => {
    const folder = await pair(t, { y: 'octane\n1\n\n2\n5\n4\n' });
    const { code, stdout } = await run(['check', folder, '--json']);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), {
      dataset: folder,
      library: 'mljs',
      samples: 4,
      test_samples: 0,
      variables: 4,
      axis: { from: 900, to: 906, unit: null },
      targets: [{ name: 'octane', min: 1, max: 5, mean: 3 }],
      warnings: ['train_y.csv: 1 sample without a reference value left out (line 3)'],
    });
  });

  it('prints warnings on stderr, apart from the report', async (t) => {
    const x = [`,${HEADER}`, ...ROWS.map((row, i) => `${i},${row}`)].join('\n');
    const { code, stderr } = await run(['check', await pair(t, { x })]);
    assert.deepEqual([code, stderr], [0, 'warning: train_x.csv: the index column was left out\n']);
  });

  it('accepts parameters and pipelines in the form that a job has', async (t) => {
    const table = [`octane,noise,${HEADER}`, ...ROWS.map((row, i) => `${80 + ((i * 2) % 5)},${i},${row}`)];
    const folder = await folderOf(t, {
      'grain.csv': table.join('\n'),
      'pls.yaml': '[{pls: {components: 2}}]',
    });
    const argv = ['check', join(folder, 'grain.csv'), '--param', 'target=octane'];
    const { code, stdout } = await run([...argv, '--pipeline', join(folder, 'pls.yaml')]);
    assert.equal(code, 0);
    assert.match(stdout, /target +octane/);
  });

  it('names the parameters that the run would ignore, and what was probably meant', async (t) => {
    const folder = await pair(t);
    const { code, stderr } = await run(['check', folder, '--param', 'taget=octane']);
    assert.equal(code, 0);
    assert.match(stderr, /^warning: unknown parameter "taget" ignored \(did you mean "target"\?\)$/m);
  });

  const faults: [string, (t: TestContext) => Promise<string[]>, RegExp][] = [
    [
      'a dataset that is not there',
      async () => ['/nowhere'],
      /^error: dataset not found: \/nowhere; \/ has /m,
    ],
    [
      'a broken table, naming the place',
      async (t) => [await pair(t, { x: [HEADER, ...ROWS].join('\n').replace('0.8', '') })],
      /^error: train_x\.csv:3: column 3 \("904"\) is empty$/m,
    ],
    [
      'a pipeline with a typing error',
      async (t) => {
        const folder = await pair(t);
        await writeFile(join(folder, '..', 'p.yaml'), '[snw, {pls: {components: 2}}]');
        return [folder, '--pipeline', join(folder, '..', 'p.yaml')];
      },
      /^error: p\.yaml: step 1: unknown step "snw" \(did you mean "snv"\?\)/m,
    ],
    [
      'a pipeline that does not fit the data',
      async (t) => {
        const folder = await pair(t);
        await writeFile(join(folder, '..', 'p.yaml'), '[{pls: {components: 9}}]');
        return [folder, '--pipeline', join(folder, '..', 'p.yaml')];
      },
      /^error: p\.yaml: pls: 9 components asked for, 3 possible with 4 rows to fit on and 4 columns$/m,
    ],
    [
      'a parameter that makes no sense',
      async () => [GASOLINE, '--param', 'header=perhaps'],
      /params\.header must be/,
    ],
    [
      'a library that it does not know',
      async () => [GASOLINE, '--lib', 'other'],
      /datasets of other cannot be/,
    ],
  ];
  for (const [title, argv, message] of faults) {
    it(`refuses ${title}: exit code 2`, async (t) => {
      const { code, stdout, stderr } = await run(['check', ...(await argv(t))]);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, message);
    });
  }
});

describe('submit --upload and run --upload look before anything is uploaded', () => {
  const argv = (server: TestServer, dataset: string, ...more: string[]) => [
    ...['run', '--lib', 'mljs', '--pipeline', 'examples/pipelines/pls.yaml', '--dataset', dataset],
    ...['--upload', '--server', server.url, ...more],
  ];

  it('say what a dataset holds, and what is odd about it', async (t) => {
    const server = await startTestServer(t);
    const rows = Array.from(
      { length: 12 },
      (_, i) =>
        `${i},${Math.sin(i)},${Math.cos(i * i)},${(i * 7) % 5},${Math.sin(i * 3)},${Math.cos(5 * i)},${Math.sin(8 * i)},${Math.sin(i * i)},${Math.cos(i / 3)},${Math.sin(i / 7)},${Math.cos(9 * i)}`,
    );
    const folder = await folderOf(t, {
      'train_x.csv': [',900,902,904,906,908,910,912,914,916,918', ...rows].join('\n'),
      'train_y.csv': `octane\n${rows.map((_, i) => 80 + Math.sin(i)).join('\n')}`,
    });
    const { code, stderr } = await run(argv(server, folder));
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^\/.*data: 12 samples, 10 variables, octane$/m);
    assert.match(stderr, /^warning: train_x\.csv: the index column was left out$/m);
  });

  it('accept a file that is one table', async (t) => {
    const server = await startTestServer(t);
    const names = Array.from({ length: 12 }, (_, j) => 900 + 2 * j);
    const rows = names.map((_, i) =>
      [80 + Math.sin(i), ...names.map((_, j) => Math.sin(i * j + i))].join(','),
    );
    const folder = await folderOf(t, { 'grain.csv': [`octane,${names.join(',')}`, ...rows].join('\n') });
    const { code, stdout, stderr } = await run(argv(server, join(folder, 'grain.csv')));
    assert.equal(code, 0, stderr);
    const request = await server.client.callText('getJobRequest', { params: { id: stdout.trim() } });
    const { datasets } = JSON.parse(request);
    assert.deepEqual([datasets[0].kind, datasets[0].name], ['artifact', 'grain']);
  });

  it('refuse a broken table and a pipeline that does not fit; nothing is uploaded or submitted', async (t) => {
    const server = await startTestServer(t);
    const broken = await pair(t, { y: 'octane\n1\n3\n2\n' });
    const { code, stderr } = await run(argv(server, broken));
    assert.equal(code, 2);
    assert.match(stderr, /^error: .*data: 5 rows of spectra .*, 3 of reference values/m);
    assert.match(stderr, /nothing was uploaded; jqctl check .* looks again/);
    const job = join(broken, '..', 'job.yaml');
    const dataset = await pair(t);
    await writeFile(
      job,
      `type: mljs.run\npipeline: {kind: inline_json, inline: [snw, {pls: {components: 2}}]}\ndataset: {kind: shared_path, path: ${dataset}}\n`,
    );
    const inline = await run(['submit', job, '--upload', '--server', server.url]);
    assert.equal(inline.code, 2);
    assert.match(inline.stderr, /pipeline 1: step 1: unknown step "snw"/);
    assert.deepEqual(await server.client.call('listJobs'), []);
    assert.doesNotMatch(stderr + inline.stderr, /^uploaded/m);
  });
});

describe('a picture of curves', () => {
  it('goes from the largest value at the top to the smallest at the bottom', () => {
    const { lines, min, max } = drawCurves([[0, 1, 2, 3]], { width: 4, height: 2 });
    assert.deepEqual([min, max], [0, 3]);
    assert.deepEqual(lines, ['⠀⠀⡠⠊', '⡠⠊⠀⠀']);
  });
  it('is flat for values that are all the same', () => {
    assert.deepEqual(drawCurves([[5, 5]], { width: 2, height: 1 }).lines, ['⠉⠉']);
  });
});
