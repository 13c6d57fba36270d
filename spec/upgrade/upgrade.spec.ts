import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { VERSIONS } from '../crash/migration.ts';
import { Program, ROOT } from '../support/program.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { startServerProgram } from '../support/server-program.ts';

const FIXTURES = fileURLToPath(new URL('./fixtures/', import.meta.url));
const SCHEMA = join(ROOT, 'actors/server/store/schema');
const NEWEST = VERSIONS.at(-1) as number;
/** The bytes that the fixtures name by their SHA-256. */
const [INPUT, MODEL] = ['an input', 'a model'];

/** Stores that earlier programs left in the middle of work: their versions and files, the oldest first. */
const left = (await readdir(FIXTURES)).sort().map((file) => ({ file, version: Number(file.slice(0, 2)) }));
const first = left[0] as (typeof left)[number];

/**
 * A state directory with such a store, migrated up to a version and no further: as an upgrade leaves it that is killed
 * between two migrations.
 */
async function stateOf(t: TestContext, file: string, version: number): Promise<string> {
  const state = join(await temporaryDirectory(t), 'state');
  for (const text of [INPUT, MODEL]) {
    const sha256 = createHash('sha256').update(text).digest('hex');
    const path = join(state, 'objects', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  const db = await open({ filename: join(state, 'store.sqlite'), driver: sqlite3.Database });
  await db.exec('PRAGMA journal_mode = WAL');
  await db.exec(await readFile(join(FIXTURES, file), 'utf8'));
  const was = Number(file.slice(0, 2));
  for (const name of (await readdir(SCHEMA)).sort()) {
    const number = Number(name.slice(0, 4));
    if (number <= was || number > version) continue;
    await db.exec(await readFile(join(SCHEMA, name), 'utf8'));
    await db.exec(`PRAGMA user_version = ${number}`);
  }
  await db.close();
  return state;
}

interface View {
  id: string;
  name: string;
  status: string;
  pipeline_label: string;
  attempt: number;
  aggregate: { num_succeeded: number; best_metric: number; best_model_artifact_id: string };
}

interface Leased {
  task_id: string;
  job_id: string;
  attempt: number;
}

/** What was under way goes on, by the same worker, and what waited is done; each as it would have been before. */
async function goesOn(url: string): Promise<void> {
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${await response.clone().text()}`);
    return (await response.json()) as T;
  };
  const jobNamed = async (name: string): Promise<View> => {
    const jobs: View[] = await call('GET', '/v1/jobs');
    return jobs.find((job) => job.name === name) as View;
  };
  const statusOf = async (name: string) => (await jobNamed(name)).status;
  const [{ id: worker }] = await call<[View]>('GET', '/v1/workers');
  const report = (id: string, verb: string, body: object, attempt = 1) =>
    call('POST', `/v1/tasks/${id}/${verb}?worker_id=${worker}&attempt=${attempt}`, body);
  const done = (rmse: number) => ({ status: 'succeeded', metrics: { best_rmse: rmse } });
  const leaseAndDo = async () => {
    const { task } = await call<{ task: Leased }>('POST', `/v1/workers/${worker}/lease`, { wait_s: 5 });
    await report(task.task_id, 'start', {}, task.attempt);
    await report(task.task_id, 'complete', done(0.5), task.attempt);
    return task.job_id;
  };

  const jobs: View[] = await call('GET', '/v1/jobs');
  assert.deepEqual(
    jobs.map(({ name, status }) => `${name}: ${status}`),
    ['queued: queued', 'in the middle: running', 'cancelling: cancelling', 'failed: failed'],
  );
  const [later, middle, cancelling, failed] = jobs as [View, View, View, View];
  assert.equal(middle.aggregate.best_metric, 0.25);
  const model = await fetch(`${url}/v1/artifacts/${middle.aggregate.best_model_artifact_id}`);
  assert.equal(await model.text(), MODEL);
  const events: { id: number; type: string }[] = await call('GET', `/v1/jobs/${middle.id}/events`);
  const types = events.map(({ type }) => type);
  for (const type of ['job_submitted', 'job_running', 'progress', 'task_completed']) {
    assert.ok(types.includes(type), type);
  }

  const [tasks, [stopping]] = (await Promise.all(
    [middle, cancelling].map(({ id }) => call<View[]>('GET', `/v1/jobs/${id}/tasks`)),
  )) as [View[], [View]];
  assert.deepEqual(tasks.map(({ pipeline_label, status }) => `${pipeline_label}: ${status}`).sort(), [
    'four: queued',
    'one: succeeded',
    'three: leased',
    'two: running',
  ]);
  const task = (label: string) => tasks.find((one) => one.pipeline_label === label)?.id as string;
  const beat = `/v1/workers/${worker}/heartbeat`;
  const { cancel_task_ids } = await call<{ cancel_task_ids: string[] }>('POST', beat, {});
  assert.deepEqual(cancel_task_ids, [stopping.id]);
  await report(stopping.id, 'fail', { error: 'stopped' });
  assert.equal(await statusOf('cancelling'), 'cancelled');
  await report(task('two'), 'complete', done(0.125));
  await report(task('three'), 'start', {});
  await report(task('three'), 'complete', done(0.75));
  assert.deepEqual([await leaseAndDo(), await leaseAndDo()], [middle.id, later.id]);
  const { status, aggregate } = await jobNamed('in the middle');
  assert.deepEqual([status, aggregate.num_succeeded, aggregate.best_metric], ['succeeded', 4, 0.125]);
  assert.equal(await statusOf('queued'), 'succeeded');

  const request = await call<object>('GET', `/v1/jobs/${middle.id}/request`);
  const again = await call<View>('POST', '/v1/jobs', request);
  assert.equal(again.id, middle.id, 'by its idempotency key');
  await call('POST', `/v1/jobs/${failed.id}/retry`);
  assert.equal(await leaseAndDo(), failed.id);
  assert.equal(await statusOf('failed'), 'succeeded');
}

describe('an upgrade in the middle of work', () => {
  for (const version of VERSIONS.filter((number) => number >= first.version)) {
    it(`of the first store, left at version ${version}`, async (t) => {
      const { url } = await startTestServer(t, { state: await stateOf(t, first.file, version) });
      await goesOn(url);
    });
  }

  for (const { file, version } of left.slice(1)) {
    it(`of a store that a program of version ${version} wrote`, async (t) => {
      const { url } = await startTestServer(t, { state: await stateOf(t, file, version) });
      await goesOn(url);
    });
  }

  it('is done by the program, whose check finds the store whole', async (t) => {
    const state = await stateOf(t, first.file, first.version);
    const server = await startServerProgram({ state });
    t.after(() => server.kill());
    await goesOn(server.url);
    assert.equal((await server.terminate()).code, 0);
    const check = new Program(join(ROOT, 'bin/jq-server'), ['check', '--state', state]);
    assert.deepEqual(await check.ended, { code: 0, signal: null }, check.stdout + check.stderr);
    const db = await open({ filename: join(state, 'store.sqlite'), driver: sqlite3.Database });
    t.after(() => db.close());
    assert.deepEqual(await db.get('PRAGMA user_version'), { user_version: NEWEST });
  });
});

describe('a downgrade', () => {
  it('is refused with a message and exit code 2, and nothing is changed', async (t) => {
    const state = await stateOf(t, first.file, NEWEST);
    const store = join(state, 'store.sqlite');
    const db = await open({ filename: store, driver: sqlite3.Database });
    await db.exec(`PRAGMA user_version = ${NEWEST + 1}`);
    await db.close();
    const before = await readFile(store);
    const server = new Program(join(ROOT, 'bin/jq-server'), ['--state', state, '--port', '0', '--json']);
    t.after(() => server.kill());
    const serves = server.announced('listening').then(
      () => 'it serves',
      () => server.ended,
    );
    assert.deepEqual(await Promise.race([server.ended, serves]), { code: 2, signal: null });
    const versions = `has version ${NEWEST + 1}, newer than this program \\(${NEWEST}\\)`;
    assert.match(
      server.stderr,
      new RegExp(`^error: the store \\S+ ${versions}; install the newer jq-cluster, or`),
    );
    assert.deepEqual(await readFile(store), before);
  });
});
