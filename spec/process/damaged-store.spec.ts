import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import type { StateReport } from '../../actors/server/check/check.ts';
import { type Outcome, run, start } from '../cli/cli-support.ts';
import { clientOf } from '../support/client.ts';
import { temporaryDirectory } from '../support/server.ts';
import { startServerProgram } from '../support/server-program.ts';
import { sha256 } from '../support/sha256.ts';
import { until } from '../support/until.ts';

const check = (state: string, ...flags: string[]): Promise<Outcome> =>
  run(['check', '--state', state, ...flags], { program: 'jq-server' });

const reportOf = async (state: string): Promise<StateReport> =>
  JSON.parse((await check(state, '--json')).stdout) as StateReport;

/** Everything below a folder, with what is in it. */
const contents = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => [name, statSync(join(folder, name)).isFile() && sha256(readFileSync(join(folder, name)))]);

/** A server process with some jobs, some work done, and two artifacts. */
async function populated(t: TestContext) {
  const state = join(await temporaryDirectory(t), 'state');
  const server = await startServerProgram({ state });
  t.after(() => server.kill());
  const client = clientOf(t, server.url);
  for (let i = 0; i < 20; i++) {
    const pipeline = { kind: 'inline_json', inline: { steps: randomBytes(10_000).toString('hex') } };
    const dataset = { kind: 'shared_path', path: '/d' };
    await client.call('submitJob', { text: JSON.stringify({ type: 'demo.run', pipeline, dataset }) });
  }
  const body = { version: { packages: { demo: '1' } }, slots_total: 4 };
  const { worker_id } = await client.call('registerWorker', { body });
  const { task } = await client.call('lease', { params: { id: worker_id }, body: {} });
  assert.ok(task);
  await client.call('startTask', { params: { id: task.task_id }, query: { worker_id } });
  await client.call('lease', { params: { id: worker_id }, body: {} });
  const objects = [randomBytes(400_000), randomBytes(100)];
  const ids: string[] = [];
  for (const [i, bytes] of objects.entries()) {
    const file = join(state, '..', `file-${i}`);
    writeFileSync(file, bytes);
    ids.push((await client.upload('uploadArtifact', { file })).artifact_id);
  }
  const paths = objects.map((bytes) => join(state, objectPath(sha256(bytes))));
  return { state, server, ids, objects, paths: paths as [string, string] };
}

/** Overwrites pages from the middle of a store; what they held is gone. */
function damagePages(state: string): void {
  const path = join(state, 'store.sqlite');
  const { size } = statSync(path);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(4096 * 20, 0xab), 0, 4096 * 20, Math.floor(size / 8192) * 4096);
}

describe('jq-server check', () => {
  it('finds a state directory intact, beside the running server and after its end, and changes nothing', async (t) => {
    const { state, server } = await populated(t);
    const beside = await check(state);
    assert.equal(beside.code, 0, beside.stdout);
    assert.match(beside.stdout, /^pages +whole\nrows +whole\nobjects +2 objects, 400 kB: whole$/m);
    assert.match(beside.stderr, /checking the pages[\s\S]*checking the objects, .* of 400 kB/);
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    await server.terminate();
    const before = contents(state);
    assert.equal((await check(state)).code, 0);
    assert.deepEqual(contents(state), before);
  });

  it('reads what a killed server left only in its write-ahead log', async (t) => {
    const { state, server } = await populated(t);
    await server.kill();
    assert.ok(existsSync(join(state, 'store.sqlite-wal')));
    const { ok, objects } = await reportOf(state);
    assert.deepEqual([ok, objects?.named], [true, 2]);
  });

  it('names objects that are damaged or missing, and those without an artifact, which do no harm', async (t) => {
    const { state, server, paths, ids } = await populated(t);
    await server.terminate();
    const stray = sha256(Buffer.from('stray'));
    const strayPath = join(state, objectPath(stray));
    mkdirSync(join(strayPath, '..'), { recursive: true });
    writeFileSync(strayPath, 'stray');
    const harmless = await check(state);
    assert.equal(harmless.code, 0);
    assert.match(harmless.stdout, new RegExp(`1 file that no artifact names:\\n +${objectPath(stray)}`));

    const bytes = readFileSync(paths[0]);
    bytes[200_000] = (bytes[200_000] as number) ^ 1;
    writeFileSync(paths[0], bytes);
    rmSync(paths[1]);
    const { code, stdout } = await check(state);
    assert.equal(code, 1);
    assert.match(stdout, new RegExp(`of ${ids[0]}: damaged: its bytes have another hash`));
    assert.match(stdout, new RegExp(`of ${ids[1]}: missing`));
    writeFileSync(paths[0], bytes.subarray(1));
    assert.match((await check(state)).stdout, /damaged: 399999 bytes instead of 400000/);
  });

  it('names rows that do not fit together', async (t) => {
    const { state, server } = await populated(t);
    await server.terminate();
    const db = await open({ filename: join(state, 'store.sqlite'), driver: sqlite3.Database });
    const harm = [
      'DELETE FROM jobs WHERE seq = 1',
      'DELETE FROM job_requests WHERE job_id = (SELECT id FROM jobs WHERE seq = 2)',
      'DELETE FROM requirements',
      'DELETE FROM workers',
      'DELETE FROM events WHERE id = 7',
      'UPDATE jobs SET num_queued = num_queued + 1 WHERE seq = 3',
      "INSERT INTO task_artifacts VALUES ('task_gone', 1, 'model', 'art_gone')",
    ];
    for (const sql of harm) await db.exec(sql);
    await db.close();
    const { ok, rows } = await reportOf(state);
    assert.equal(ok, false);
    const found = new Map(rows?.map((fault) => [fault.what, fault.rows]));
    assert.deepEqual(
      [
        'tasks of a job that is not there',
        'specifications of a job that is not there',
        'jobs without their specification',
        'tasks whose requirements are not there',
        'uploads of a task that is not there',
        'uploads whose artifact is not there',
        'tasks held by a worker that is not there',
        'jobs that count their queued tasks wrongly',
        'gaps between events',
      ].map((what) => found.get(what)),
      [1, 1, 1, 20, 1, 1, 2, 1, 1],
    );
  });

  it('says when there is no store to check: exit code 2', async (t) => {
    const { code, stdout, stderr } = await check(join(await temporaryDirectory(t), 'nowhere'));
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(
      stderr,
      /^error: there is no store in .*nowhere; see --state; one in PostgreSQL has tools of its own: .*\n$/,
    );
    assert.equal((await check('.', '--bogus')).code, 2);
  });
});

describe('a server on a damaged store', () => {
  for (const [what, harm] of [
    ['damaged pages', damagePages],
    [
      'a file that is no store',
      (state: string) => writeFileSync(join(state, 'store.sqlite'), Buffer.alloc(40_960, 7)),
    ],
  ] as const) {
    it(`refuses to start with ${what}, and says what to do; the check names it`, async (t) => {
      const { state, server } = await populated(t);
      await server.terminate();
      harm(state);
      const argv = ['--state', state, '--port', '0', '--log-level', 'error'];
      const { code, stdout, stderr } = await start('jq-server', argv).outcome;
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(
        stderr,
        /^error: the store in \S+ is damaged \([^\n]*\); restore \S+ from a copy; what is damaged tells: jq-server check --state \S+\n$/,
      );
      const checked = await check(state);
      assert.equal(checked.code, 1, checked.stderr);
      assert.match(checked.stdout, /^pages +\d+ faults?$/m);
      assert.doesNotMatch(checked.stdout, /whole/, 'what cannot be read is not called whole');
    });
  }

  for (const [what, harm] of [
    ['is missing', (path: string) => rmSync(path)],
    ['is empty', (path: string) => writeFileSync(path, '')],
  ] as const) {
    it(`warns before it starts afresh where the store ${what} and objects are there`, async (t) => {
      const { state, server, paths } = await populated(t);
      await server.terminate();
      harm(join(state, 'store.sqlite'));
      for (const time of ['at once', 'as long as nothing is recorded']) {
        const { child, said, outcome } = start('jq-server', ['--state', state, '--port', '0']);
        t.after(() => child.kill('SIGKILL'));
        await until('the server', () => said.stderr.includes('listens on'));
        child.kill('SIGTERM');
        await outcome;
        assert.match(
          said.stderr,
          /holds the bytes of artifacts, and a store without jobs.*starts afresh/,
          time,
        );
      }
      assert.ok(existsSync(paths[0]), 'the bytes stay');
    });
  }

  it('does not warn in a new directory, nor with its store in place', async (t) => {
    const { state, server } = await populated(t);
    await server.terminate();
    const again = await startServerProgram({ state });
    t.after(() => again.kill());
    await again.terminate();
    assert.doesNotMatch(server.stderr + again.stderr, /afresh/);
  });
});
