import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFile, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { inputsOf } from '../../bin/jobs/export/inputs.ts';
import { shortName, taskFolders } from '../../bin/jobs/task-folders.ts';
import { readCsv } from '../../machines/results/csv.ts';
import { seriousFaults } from '../dashboard/axe.ts';
import { browserForTests } from '../dashboard/browser.ts';
import { Hand } from '../dashboard/hands.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { aTask } from './fake-server.ts';
import { scene } from './scene.ts';

const PREDICTIONS = `sample,partition,fold,y,prediction,target
1,validation,1,10,11,<b>starch</b>
2,validation,1,20,19,<b>starch</b>
3,test,,30,31,<b>starch</b>
`;
const NAME = 'corn <script>alert(1)</script>';

const LEFT_OUT = 'y.csv: 1 sample without a <reference> value left out';

/** A job of two pipelines, one of which failed, with an uploaded dataset and all that a task leaves; and who exports it. */
async function ended(t: TestContext) {
  const { server, ctl } = await scene(t);
  const box = await temporaryDirectory(t);
  const data = join(box, 'corn.zip');
  await writeFile(data, 'x,y\n1.0,2\n');
  const { artifact_id } = await server.client.upload('uploadArtifact', {
    ...{ file: data, filename: 'corn.zip', query: { kind: 'input' } },
  });
  const job = await server.client.call('submitJob', {
    text: `{"type":"demo.run","name":${JSON.stringify(NAME)},"idempotency_key":"once","params":{"alpha":1.0,"n":12345678901234567890},
      "pipelines":[{"kind":"inline_json","name":"snv & pls","inline":1e-3},{"kind":"path","path":"/lab/p.yaml"}],
      "dataset":{"kind":"artifact","artifact_id":"${artifact_id}","name":"corn"}}`,
  });
  const hand = await Hand.register(server.client);
  const task = await hand.run();
  await hand.upload(task, box, 'model', 'best_model.json', '{"model":1}');
  await hand.upload(task, box, 'predictions', 'predictions.csv', PREDICTIONS);
  await hand.complete(task, {
    ...{ metrics: { best_rmse: 0.5 }, extra: { warnings: [LEFT_OUT] }, demo_version: '1.0' },
  });
  await hand.fail(await hand.run(), 'no <such> file');
  const folder = join(box, 'out');
  const outcome = await ctl('export', job.id, '--to', folder);
  return {
    server,
    ctl,
    job,
    folder,
    box,
    outcome,
    read: (path: string) => readFile(join(folder, path), 'utf8'),
  };
}

const filesIn = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

describe('an exported job', () => {
  it('is a folder with all that there is of it, under names that a person recognises', async (t) => {
    const { outcome, folder, read, job } = await ended(t);
    assert.equal(outcome.code, 0, outcome.stderr);
    assert.match(outcome.stdout, /^11 files, .* begin with report\.html\n$/);
    assert.match(outcome.stderr, /only the workers have it, not exported: pipeline \/lab\/p\.yaml \(path\)/);
    assert.deepEqual(await filesIn(folder), [
      ...['01-snv-pls/best_model.json', '01-snv-pls/predictions.csv', 'events.jsonl'],
      ...['index.csv', 'inputs/01-corn.zip', 'job.json', 'ranking.csv', 'report.html'],
      ...['submitted.json', 'versions.csv', 'view.json'],
    ]);
    assert.match(await read('submitted.json'), /"alpha":1\.0,"n":12345678901234567890/);
    assert.match(await read('job.json'), /"alpha":1\.0,"n":12345678901234567890/);
    assert.deepEqual(JSON.parse(await read('job.json')).dataset.artifact_id, 'file:inputs/01-corn.zip');
    assert.equal(JSON.parse(await read('job.json')).idempotency_key, undefined);
    assert.equal(JSON.parse(await read('view.json')).tasks.length, 2);
    const types = (await read('events.jsonl'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).type);
    assert.equal(types[0], 'job_submitted');
    assert.equal(types.at(-1), 'job_succeeded');
    const [head, ...lines] = readCsv(await read('versions.csv'));
    assert.deepEqual([head?.[3], head?.[4], head?.[8]], ['library', 'version', 'worker_name']);
    assert.deepEqual(
      lines.map((line) => [line[3], line[4], line[8]]),
      [['demo', '1.0', 'hand']],
    );
    assert.ok((await read('report.html')).includes(job.id));
  });

  it('has a report that says how the job ended, what was warned of, and which task is drawn', async (t) => {
    const { read } = await ended(t);
    const report = await read('report.html');
    assert.match(report, /<dt>status<\/dt><dd><bdi>succeeded, 1 failed</);
    assert.match(
      report,
      /class="warnings">.*y\.csv: 1 sample without a &lt;reference&gt; value left out \(1 task\)/,
    );
    assert.match(report, /<h2>The best<\/h2>\s*<p><bdi>snv &amp; pls on corn</);
  });

  it('has an index that says what each file is, of which task, and its rank', async (t) => {
    const { read } = await ended(t);
    const [head = [], ...lines] = readCsv(await read('index.csv'));
    assert.deepEqual(head.slice(0, 7), ['path', 'what', 'rank', 'metric', 'value', 'pipeline', 'dataset']);
    const model = lines.find(([path]) => path === '01-snv-pls/best_model.json');
    assert.deepEqual(model?.slice(1, 7), ['model', '1', 'best_rmse', '0.5', 'snv & pls', 'corn']);
    assert.equal(lines.find(([path]) => path === 'inputs/01-corn.zip')?.[1], 'input');
  });

  it('is submitted again by import, also from elsewhere, with what was uploaded for it', async (t) => {
    const { folder, box, ctl, server, job } = await ended(t);
    const moved = join(box, 'moved');
    await rename(folder, moved);
    const { code, stdout, stderr } = await ctl('import', moved);
    assert.equal(code, 0, stderr);
    const id = stdout.trim();
    assert.notEqual(id, job.id);
    const request = await server.client.callText('getJobRequest', { params: { id } });
    assert.match(request, /"alpha":1\.0,"n":12345678901234567890/);
    const { resubmitted_from } = await server.client.call('getJob', { params: { id } });
    assert.equal(resubmitted_from, job.id, 'it says where it comes from');
    const { elsewhere, downloads } = await inputsOf(server.client, request);
    assert.deepEqual(elsewhere, ['pipeline /lab/p.yaml (path)']);
    assert.equal(
      downloads[0]?.artifact.size_bytes,
      (await readFile(join(moved, 'inputs/01-corn.zip'))).length,
    );
  });

  it('is not submitted where a file of it is damaged or missing, or where it is no export', async (t) => {
    const { folder, ctl, server } = await ended(t);
    const jobs = async () => (await server.client.call('listJobs', {})).length;
    const before = await jobs();
    await appendFile(join(folder, 'inputs/01-corn.zip'), '1,1\n');
    await rm(join(folder, '01-snv-pls/predictions.csv'));
    const damaged = await ctl('import', folder);
    assert.equal(damaged.code, 2);
    assert.match(damaged.stderr, /01-snv-pls\/predictions\.csv is missing or damaged/);
    assert.match(damaged.stderr, /inputs\/01-corn\.zip is missing or damaged/);
    await rm(join(folder, 'index.csv'));
    assert.match(
      (await ctl('import', folder)).stderr,
      /has no index\.csv: it is no export, or one that was not finished/,
    );
    assert.match((await ctl('import', join(folder, 'nowhere'))).stderr, /there is no folder/);
    const archive = await ctl('import', join(folder, 'job.json'));
    assert.match(archive.stderr, /job\.json is a file\n.*unpack the archive/);
    assert.equal(await jobs(), before);
  });

  it('uploads nothing by import but files that its index names: no others of this machine', async (t) => {
    const { folder, box, ctl, server } = await ended(t);
    const jobs = async () => (await server.client.call('listJobs', {})).length;
    const before = await jobs();
    await writeFile(join(box, 'secret.csv'), '1,2\n');
    const text = await readFile(join(folder, 'job.json'), 'utf8');
    const leading = text.replace('file:inputs/01-corn.zip', 'file:../secret.csv');
    assert.notEqual(leading, text);
    const hashOf = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
    const index = await readFile(join(folder, 'index.csv'), 'utf8');
    await writeFile(join(folder, 'job.json'), leading);
    await writeFile(join(folder, 'index.csv'), index.replace(hashOf(text), hashOf(leading)));
    const outside = await ctl('import', folder);
    assert.equal(outside.code, 2);
    assert.match(outside.stderr, /names \.\.\/secret\.csv, which is none of the files of its index/);
    // A link that lies in the folder and leads out of it.
    await writeFile(join(folder, 'job.json'), text);
    const zip = join(folder, 'inputs/01-corn.zip');
    await rename(zip, join(box, 'corn.zip'));
    await symlink(join(box, 'corn.zip'), zip);
    await writeFile(join(folder, 'index.csv'), index);
    const linked = await ctl('import', folder);
    assert.equal(linked.code, 2);
    assert.match(linked.stderr, /leads out of the folder/);
    assert.equal(await jobs(), before);
  });

  it('is never mixed with what lies there already', async (t) => {
    const { folder, ctl, job } = await ended(t);
    const { code, stderr } = await ctl('export', job.id, '--to', folder);
    assert.equal(code, 2);
    assert.match(stderr, /is not empty/);
    assert.match((await ctl('export', job.id)).stderr, /--to is missing/);
  });
});

describe('a job that is exported after somebody said something of it', () => {
  it('has that in its specification and its report, and what was submitted as it was', async (t) => {
    const { ctl, job, box } = await ended(t);
    await ctl('set', job.id, '--note', 'the <good> one', '--tag', 'corn');
    const folder = join(box, 'again');
    assert.equal((await ctl('export', job.id, '--to', folder)).code, 0);
    const read = (path: string) => readFile(join(folder, path), 'utf8');
    const { note, tags, params } = JSON.parse(await read('job.json'));
    assert.deepEqual([note, tags, params.alpha], ['the <good> one', ['corn'], 1]);
    assert.equal(JSON.parse(await read('submitted.json')).note, undefined);
    assert.match(await read('report.html'), /<dt>note<\/dt><dd><bdi>the &lt;good&gt; one</);
    assert.match(await read('report.html'), /<dt>tags<\/dt><dd><bdi>corn</);
  });
});

describe('the report of an exported job', requires('chromium'), () => {
  const open = browserForTests();

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`is one page that shows all of it and runs nothing, in ${colorScheme} colours and on a phone`, async (t) => {
      const { folder } = await ended(t);
      const visit = { path: `${folder}/report.html`, colorScheme, viewport: { width: 390, height: 844 } };
      const page = await open('file://', visit);
      assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), NAME);
      await page
        .getByRole('img', {
          name: /^Predicted against measured <b>starch<\/b>\. cross-validation: 2 samples/,
        })
        .waitFor();
      await page.getByText('no <such> file').waitFor();
      assert.equal(await page.locator('script').count(), 0);
      assert.equal(
        await page.getByRole('link', { name: 'ranking.csv' }).first().getAttribute('href'),
        'ranking.csv',
      );
      assert.deepEqual(await seriousFaults(page), []);
      assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 390);
    });
  }
});

describe('the folder of a task', () => {
  const named = (over: Parameters<typeof aTask>[0][]) => [
    ...taskFolders(over.map((one, i) => aTask({ id: `task_${i}`, ...one }))).values(),
  ];

  it('is called by its place in the job and its pipeline, and where there are several, its dataset', () => {
    assert.deepEqual(named([{ pipeline_label: 'snv-pls' }, { pipeline_steps: 'snv » pls(components=5)' }]), [
      '01-snv-pls',
      '02-snv-pls-components-5',
    ]);
    assert.deepEqual(named([{ dataset_label: '/data/corn' }, { dataset_label: 'rye' }]), [
      '01-pls-data-corn',
      '02-pls-rye',
    ]);
    assert.equal(named(Array(1000).fill({}))[0], '0001-pls');
  });

  it('is a name on every system, whatever the pipeline is called', () => {
    assert.deepEqual(named([{ pipeline_label: '../../etc' }, { pipeline_label: '' }]), ['01-etc', '02']);
    assert.equal(shortName('Äpfel & Birnen: 2.5 %'), 'Äpfel-Birnen-2.5');
    assert.equal([...shortName('x'.repeat(200))].length, 40);
  });
});
