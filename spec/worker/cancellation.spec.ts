import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { membersOf, TAG_VARIABLE } from '../../actors/worker/child/process-tree.ts';
import { needsLibrary } from '../nirs4all/python.ts';
import { PYTHON } from '../nirs4all/where.ts';
import { type Needing, requires } from '../support/requires.ts';
import type { TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from './folder.ts';
import { isAlive, pidIn, serverAndWorker, submit, taskIn } from './support.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** Of an interpreter's own processes; of joblib's, where the library for the analyses is installed. */
const POOLS: [string, string, Needing][] = [
  ['Python processes', 'python3', requires('python3')],
  ['processes of joblib', PYTHON, needsLibrary],
];

interface Scene {
  server: TestServer;
  job: string;
  /** Of the processes that the script told of. */
  pids: number[];
  /** All processes of the task, whatever became of them. */
  members(): number[];
}

/** A task under way whose child runs a shell script; it has told of all that it was to start. */
async function play(t: TestContext, params: object, names: string[], differs: object = {}): Promise<Scene> {
  const { server } = await serverAndWorker(t);
  const mark = await temporaryFolder(t);
  const job = await submit(server, { do: 'shell', mark, forever: true, ...params }, { ...differs });
  const pids = await Promise.all(names.map((name) => pidIn(join(mark, name))));
  // While it turns from a shell into its program it has none.
  const value = await until('its mark', async () => {
    const environment = await readFile(`/proc/${pids[0]}/environ`, 'latin1');
    return environment.split('\0').find((entry) => entry.startsWith(`${TAG_VARIABLE}=`));
  });
  const members = () =>
    membersOf({ tag: value.slice(TAG_VARIABLE.length + 1), leader: null, since: 0 }).map(({ pid }) => pid);
  assert.ok(members().length > names.length, 'the child, its shell, and what that started');
  return { server, job, pids, members };
}

const cancelled = (server: TestServer, id: string) =>
  until(
    'the job to be cancelled',
    async () => (await server.client.call('getJob', { params: { id } })).status === 'cancelled',
  );

const SLEEP = 'sleep 1000 & tell sleep;';
const DAEMON = '(setsid sleep 1000 >/dev/null 2>&1 & tell daemon);';
/** Neither its environment nor its group tells whose it is, and soon nor does its parent; SIGTERM is nothing to it. */
const BARE = `env -i setsid sh -c 'trap "" TERM; echo; sleep 1000; echo' & tell bare;`;
const trees: [string, object, string[]][] = [
  ['a shell that started another program', { script: `${SLEEP} wait` }, ['sleep']],
  ['programs that ignore SIGTERM', { script: `trap '' TERM; ${SLEEP} wait`, stubborn: true }, ['sleep']],
  ['programs that left its group and session', { script: `${DAEMON} ${SLEEP} wait` }, ['daemon', 'sleep']],
  ['programs with another environment', { script: `${BARE} ${SLEEP} wait` }, ['sleep', 'bare']],
];

describe('a cancelled task leaves no process behind', () => {
  for (const [what, params, names] of trees) {
    it(`of ${what}`, async (t) => {
      const { server, job, pids, members } = await play(t, params, names);
      await server.client.call('cancelJob', { params: { id: job } });
      await cancelled(server, job);
      assert.deepEqual(pids.filter(isAlive), [], 'the server hears of it when nothing runs any more');
      assert.deepEqual(members(), []);
    });
  }

  for (const [what, python, needs] of POOLS) {
    it(`of a pool of ${what}`, needs, async (t) => {
      const pool = await temporaryFolder(t);
      const params = { script: `${python} ${here('./fixtures/pool.py')} ${pool} & tell python; wait` };
      const { server, job, members, pids } = await play(t, params, ['python']);
      await until('two workers', async () => (await readdir(pool)).length === 2);
      const workers = (await readdir(pool)).map((name) => Number(name.slice('worker-'.length)));
      assert.deepEqual(workers.map(isAlive), [true, true]);
      await server.client.call('cancelJob', { params: { id: job } });
      await cancelled(server, job);
      assert.deepEqual(workers.filter(isAlive), []);
      assert.deepEqual(members(), []);
      const shared = await readdir('/dev/shm').catch(() => []);
      const named = shared.filter((name) => new RegExp(`[-_]${pids[0]}[-_]`).test(name));
      assert.deepEqual(named, [], 'nor what names the process that made it');
    });
  }
});

describe('a task leaves no process behind', () => {
  it('that times out', async (t) => {
    const differs = { timeout_seconds: 5, retry: { max_attempts: 1 } };
    const [, params, names] = trees[2] as (typeof trees)[0];
    const { server, job, pids, members } = await play(t, params, names, differs);
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.error], ['failed', 'timed out after 5 s']);
    assert.deepEqual(pids.filter(isAlive), []);
    assert.deepEqual(members(), []);
  });

  it('that succeeds', async (t) => {
    const { server } = await serverAndWorker(t);
    const mark = await temporaryFolder(t);
    const job = await submit(server, { do: 'shell', mark, script: DAEMON });
    const task = await taskIn(server, job);
    assert.equal(task.status, 'succeeded');
    assert.equal(isAlive(await pidIn(join(mark, 'daemon'))), false);
  });
});
