import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test';
import { planDownloads } from '../../bin/jobs/download.ts';
import { safeFileName } from '../../bin/jobs/filenames.ts';
import { writeIndex } from '../../bin/jobs/index-file.ts';
import { readCsv } from '../../machines/results/csv.ts';
import type { ArtifactView, JobView } from '../../machines/schema/views.ts';
import { Hand, pipelines, submit as submitJob } from '../dashboard/hands.ts';
import { temporaryDirectory } from '../support/server.ts';
import { sha256 } from '../support/sha256.ts';
import { until } from '../support/until.ts';
import { run, start } from './cli-support.ts';
import { type Answer, aJob, anArtifact, aTask, fakeServer } from './fake-server.ts';
import { scene } from './scene.ts';

/** An artifact and its content, as an honest server would have them. */
const holding = (content: string, over: Partial<ArtifactView>) => ({
  content,
  view: anArtifact({ sha256: sha256(content), size_bytes: content.length, ...over }),
});

describe('artifacts --out', () => {
  let box: string;
  let out: string;
  let stop = async () => {};
  beforeEach(async () => {
    box = await mkdtemp(join(tmpdir(), 'jq-artifacts-'));
    out = join(box, 'out');
  });
  afterEach(async () => {
    await stop();
    await rm(box, { recursive: true });
  });

  async function fetchAll(
    held: ReturnType<typeof holding>[],
    flags: string[] = [],
    over: Record<string, Answer> = {},
  ) {
    const answers: Record<string, Answer> = {
      'GET /v1/jobs/job_1/artifacts': { body: held.map((h) => h.view) },
    };
    for (const { view, content } of held) answers[`GET /v1/artifacts/${view.id}`] = { body: content };
    const server = await fakeServer({ ...answers, ...over });
    stop = server.stop;
    const outcome = await run(['artifacts', 'job_1', '--out', out, '--server', server.url, ...flags]);
    return { ...outcome, requests: server.requests };
  }
  const files = async () =>
    (await readdir(box, { recursive: true, withFileTypes: true }))
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(box.length + 1))
      .sort();

  it("puts the job's own artifacts into the directory, those of a task into a folder of its name", async () => {
    const { code, stdout, requests } = await fetchAll([
      holding('best', { role: 'best_model', task_id: null, id: 'art_1' }),
      holding('best', { role: 'model', task_id: 'task_1', id: 'art_1' }),
      holding('a log', { role: 'logs', task_id: 'task_1', id: 'art_2', filename: 'run.log' }),
    ]);
    assert.equal(code, 0);
    assert.deepEqual(await files(), [
      'out/best_model.json',
      'out/task_1/best_model.json',
      'out/task_1/run.log',
    ]);
    assert.equal(await readFile(join(out, 'task_1/best_model.json'), 'utf8'), 'best');
    assert.match(stdout, /saved best_model\.json 4 B/);
    assert.equal(
      requests.filter((r) => r.includes('/artifacts/art_1')).length,
      1,
      'equal content comes once',
    );
  });

  it('takes only the artifacts of a role', async () => {
    const { code } = await fetchAll(
      [holding('m', { id: 'art_1' }), holding('l', { id: 'art_2', role: 'logs', filename: 'run.log' })],
      ['--role', 'logs'],
    );
    assert.equal(code, 0);
    assert.deepEqual(await files(), ['out/task_1/run.log']);
  });

  it('never writes outside the directory, whatever names the server gives', async () => {
    const names = [
      '../../escape',
      '/etc/escape',
      '..',
      '.',
      '',
      'a/../../b',
      'C:\\evil.exe',
      '.bashrc',
      'x\u0000y',
      '\u001b[31mred',
      'con',
    ];
    const { code } = await fetchAll(
      names.flatMap((filename, i) => [
        holding(`root ${i}`, { id: `art_r${i}`, filename, task_id: null, role: '../role' }),
        holding(`task ${i}`, { id: `art_t${i}`, filename, task_id: '../../task', role: '..' }),
      ]),
    );
    assert.equal(code, 0);
    const found = await files();
    assert.equal(found.length, names.length * 2);
    for (const file of found) {
      assert.match(file, /^out\/(task\/)?[^/.][^/]*$/);
      assert.doesNotMatch(file, /\p{Cc}/u);
    }
  });

  it('does not follow a link that leads out of the directory', async () => {
    await mkdir(out);
    await mkdir(join(box, 'elsewhere'));
    await symlink(join(box, 'elsewhere'), join(out, 'task_1'));
    const { code, stderr } = await fetchAll([holding('m', {})]);
    assert.equal(code, 2);
    assert.match(stderr, /leads out of/);
    assert.deepEqual(await readdir(join(box, 'elsewhere')), []);
  });

  it('gives files of the same name distinct names', async () => {
    const { code } = await fetchAll([
      holding('1', { id: 'art_1', filename: 'Model.json' }),
      holding('2', { id: 'art_2', filename: 'model.json' }),
      holding('3', { id: 'art_3', filename: 'dir/model.json' }),
    ]);
    assert.equal(code, 0);
    assert.deepEqual(await files(), [
      'out/task_1/Model.json',
      'out/task_1/model-2.json',
      'out/task_1/model-3.json',
    ]);
  });

  it('discards a file that does not match its SHA-256: exit code 4, the other files arrive', async () => {
    const { code, stderr } = await fetchAll([
      holding('good', { id: 'art_1', filename: 'good' }),
      {
        content: 'changed on the way',
        view: anArtifact({ id: 'art_2', sha256: sha256('as it was'), filename: 'bad' }),
      },
    ]);
    assert.equal(code, 4);
    assert.match(stderr, /failed task_1\/bad \(art_2\): the content does not match its SHA-256/);
    assert.deepEqual(await files(), ['out/task_1/good'], 'nothing partial is left');
  });

  it('leaves nothing of a download that breaks off, and says after how many bytes: exit code 4', async () => {
    const { code, stderr } = await fetchAll([holding('x'.repeat(1000), {})], [], {
      'GET /v1/artifacts/art_1': { body: 'x'.repeat(1000), end: 'cut' },
    });
    assert.equal(code, 4);
    assert.match(stderr, /the download of art_1 broke off after \d+ bytes, and could not be taken up/);
    assert.doesNotMatch(stderr, /is the server running/);
    assert.deepEqual(await files(), []);
  });

  it('leaves nothing of a download that Ctrl-C ends: exit code 130', async () => {
    const { view } = holding('x'.repeat(1000), {});
    const server = await fakeServer({
      'GET /v1/jobs/job_1/artifacts': { body: [view] },
      'GET /v1/artifacts/art_1': { body: 'x'.repeat(1000), end: 'never' },
    });
    stop = server.stop;
    const { child, outcome } = start('jqctl', ['artifacts', 'job_1', '--out', out, '--server', server.url]);
    await until('the first bytes', async () => (await files()).length === 1);
    child.kill('SIGINT');
    assert.equal((await outcome).code, 130);
    assert.deepEqual(await files(), []);
  });

  it('replaces an older file of the same name', async () => {
    await mkdir(join(out, 'task_1'), { recursive: true });
    await writeFile(join(out, 'task_1/best_model.json'), 'old');
    const { code } = await fetchAll([holding('new', {})]);
    assert.equal(code, 0);
    assert.equal(await readFile(join(out, 'task_1/best_model.json'), 'utf8'), 'new');
  });

  it('says so when the directory is a file: exit code 2', async () => {
    await writeFile(out, '');
    const { code, stderr } = await fetchAll([holding('m', {})]);
    assert.equal(code, 2);
    assert.match(stderr, /cannot use the directory/);
  });

  it('prints one JSON document under --json, with the path of each file and numbers as the server wrote them', async () => {
    const view = anArtifact({ sha256: sha256('m'), metadata: {} });
    const text = JSON.stringify(view).replace(
      '"metadata":{}',
      '"metadata":{"n":1.0,"big":12345678901234567890}',
    );
    const { code, stdout } = await fetchAll([holding('m', {})], ['--json'], {
      'GET /v1/jobs/job_1/artifacts': { body: `[${text}]` },
    });
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout)[0].path, join('task_1', 'best_model.json'));
    assert.match(stdout, /"n":1\.0,"big":12345678901234567890/);
  });
});

describe('artifacts of a job of several tasks', () => {
  /** Three tasks of which the second is best, each with a log; and who fetches them. */
  async function ranked(t: TestContext) {
    const { server, ctl } = await scene(t);
    const box = await temporaryDirectory(t);
    const { id } = await submitJob(server.client, pipelines('pls', 'snv', 'msc'));
    const hand = await Hand.register(server.client);
    for (const best_rmse of [3, 1, 2]) {
      const task = await hand.run();
      await hand.upload(task, box, 'logs', 'run.log', `a log ${best_rmse}`);
      await hand.complete(task, { metrics: { best_rmse } });
    }
    const out = join(box, 'out');
    const index = async () => readCsv(await readFile(join(out, 'index.csv'), 'utf8')).slice(1);
    return { id, out, index, ctl: (...argv: string[]) => ctl('artifacts', id, ...argv) };
  }

  it('come from the best so many with --top, into folders that a person recognises', async (t) => {
    const { ctl, out } = await ranked(t);
    assert.equal((await ctl('--top', '2', '--out', out)).code, 0);
    assert.deepEqual((await readdir(out)).sort(), ['02-snv', '03-msc', 'index.csv']);
    assert.equal(await readFile(join(out, '02-snv/run.log'), 'utf8'), 'a log 1');
    const listed = JSON.parse((await ctl('--top', '1', '--json')).stdout);
    assert.equal(listed.length, 1);
    assert.match((await ctl('--top', '1', '--task', 'snv')).stderr, /--top and --task are two/);
  });

  it('have the best model in the index with its task and rank, though it is kept of the job', async (t) => {
    const box = await temporaryDirectory(t);
    const tasks = [aTask({ id: 'task_1', pipeline_label: 'snv' })];
    const entry = { task_id: 'task_1', pipeline: 'snv', dataset: 'gasoline', metrics: { best_rmse: 0.5 } };
    const job = aJob({}, { best_task_id: 'task_1', ranking: [entry] as JobView['aggregate']['ranking'] });
    const file = { path: 'best_model.json', what: 'best_model', task_id: null, artifact_id: 'art_1' };
    await writeIndex(box, [{ ...file, bytes: 2, sha256: '' }], { job, tasks });
    const [line] = readCsv(await readFile(join(box, 'index.csv'), 'utf8')).slice(1);
    assert.deepEqual(line?.slice(1, 8), [
      ...['best_model', '1', 'best_rmse', '0.5', 'snv', 'gasoline', 'task_1'],
    ]);
  });

  it('are listed with the pipeline and the dataset of their task', async (t) => {
    const { ctl } = await ranked(t);
    const { stdout } = await ctl();
    for (const pipeline of ['pls', 'snv', 'msc'])
      assert.match(stdout, new RegExp(`^logs +run\\.log .* art_\\w+ +${pipeline} on corn +task_\\w+$`, 'm'));
  });

  it('are listed in an index, also what came before, as long as it is there', async (t) => {
    const { ctl, out, index } = await ranked(t);
    await ctl('--task', 'pls', '--out', out);
    await ctl('--top', '1', '--out', out);
    assert.deepEqual(
      (await index()).map((line) => line.slice(0, 7)),
      [
        ['01-pls/run.log', 'logs', '3', 'best_rmse', '3', 'pls', 'corn'],
        ['02-snv/run.log', 'logs', '1', 'best_rmse', '1', 'snv', 'corn'],
      ],
    );
    await rm(join(out, '01-pls'), { recursive: true });
    await ctl('--top', '1', '--out', out);
    assert.deepEqual(
      (await index()).map(([path]) => path),
      ['02-snv/run.log'],
    );
  });
});

describe('a file name from a server', () => {
  it('keeps what is harmless, and its extension when it is too long', () => {
    assert.equal(safeFileName('Übersicht 2024.csv', 'x'), 'Übersicht 2024.csv');
    const long = safeFileName(`${'ä'.repeat(300)}.json`, 'x');
    assert.ok(Buffer.byteLength(long) <= 200);
    assert.match(long, /^ä+~[0-9a-f]{8}\.json$/);
    assert.notEqual(long, safeFileName(`${'ä'.repeat(301)}.json`, 'x'));
  });

  it('is its role when there is none, and never empty', () => {
    assert.equal(safeFileName(null, 'model'), 'model');
    assert.equal(safeFileName('...', '..'), 'file');
  });

  it('does not take the name of the folder of a task', () => {
    const paths = planDownloads([
      anArtifact({ task_id: null, filename: 'task_1' }),
      anArtifact({ task_id: 'task_1', filename: 'm' }),
    ]).map(({ path }) => path);
    assert.deepEqual(paths, ['task_1-2', join('task_1', 'm')]);
  });
});
