import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { quietPort } from '../support/program.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from './folder.ts';
import { isAlive, logOf, pidIn, startTestWorker, submit, taskIn, taskOf } from './support.ts';

/** A server on a port that can be listened on again at once, which one that the system chose cannot. */
async function startServer(t: TestContext, options: Partial<TestServer['config']> = {}): Promise<TestServer> {
  return startTestServer(t, { ...options, port: await quietPort() });
}

/** The same server again: same state, same port. */
const again = (t: TestContext, { stateDir, port, config }: TestServer) =>
  startTestServer(t, { ...config, state: stateDir, port });

const outbox = (state: string) => readdir(join(state, 'outbox')).catch(() => []);
const saved = (state: string) =>
  until('a saved result', async () => (await outbox(state)).some((name) => name.endsWith('.json')));

/** A worker with a task whose child has begun, and goes on until `finish` is called. */
async function running(t: TestContext, server: TestServer, state?: string) {
  const worker = await startTestWorker(t, server, state === undefined ? {} : { state });
  const folder = await temporaryFolder(t);
  const [mark, go] = [join(folder, 'pid'), join(folder, 'go')];
  const job = await submit(server, { do: 'wait', mark, until: go });
  const child = await pidIn(mark);
  return { worker, job, child, finish: () => writeFile(go, '') };
}

/** A worker whose task has ended while the server was away; its result is saved. */
async function finished(t: TestContext) {
  const server = await startServer(t);
  const { worker, job, finish } = await running(t, server);
  await server.stop();
  await finish();
  await saved(worker.state);
  return { server, worker, job };
}

describe('while the server is away', () => {
  it('a finished result waits on disk and is delivered, with its artifacts, once it is back', async (t) => {
    const { server, worker, job } = await finished(t);
    const back = await again(t, server);
    const task = await taskIn(back, job);
    assert.deepEqual([task.status, task.attempt], ['succeeded', 1]);
    assert.equal(await logOf(back, job), '');
    await until('the outbox to be empty', async () => (await outbox(worker.state)).length === 0);
  });

  it('a finished result survives the end of the worker: the next one on its state directory delivers it', async (t) => {
    const { server, worker, job } = await finished(t);
    worker.cancelRunning();
    await worker.ended;

    const back = await again(t, server);
    const next = await startTestWorker(t, back, { state: worker.state });
    assert.equal(next.workerId, worker.workerId);
    const task = await taskIn(back, job);
    assert.deepEqual([task.status, task.attempt, task.worker_id], ['succeeded', 1, worker.workerId]);
    await until('the outbox to be empty', async () => (await outbox(worker.state)).length === 0);
  });

  it('a worker that has to stop leaves the task it cancels to the next one', async (t) => {
    const server = await startServer(t);
    const { worker, job, child } = await running(t, server);
    await server.stop();
    worker.cancelRunning();
    await worker.ended;
    assert.equal(isAlive(child), false);
    const back = await again(t, server);
    const next = await startTestWorker(t, back, { state: worker.state });
    await until('the next attempt', async () => (await taskOf(back, job)).attempt === 2);
    next.cancelRunning();
  });

  it('a worker that never reached the server can be stopped', async (t) => {
    const server = await startServer(t);
    await server.stop();
    const worker = await startTestWorker(t, server);
    await worker.stop();
  });
});

describe('while the store cannot commit', () => {
  it('reports are repeated until it can again', async (t) => {
    let broken = false;
    let refused = 0;
    const beforeCommit = async () => {
      if (!broken) return;
      refused++;
      throw new Error('disk full');
    };
    const server = await startServer(t, { hooks: { beforeCommit } });
    const { job, finish } = await running(t, server);
    broken = true;
    await finish();
    await until('a refused commit', () => refused > 0);
    broken = false;
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.attempt], ['succeeded', 1]);
  });
});

describe('a worker that the server does not know', () => {
  it('registers again and goes on working', async (t) => {
    const server = await startServer(t);
    const worker = await startTestWorker(t, server);
    const { workerId } = worker;
    await server.stop();
    const other = await startTestServer(t, { port: server.port });
    const job = await submit(other, { do: 'echo' });
    assert.equal((await taskIn(other, job)).status, 'succeeded');
    assert.notEqual(worker.workerId, workerId);
    const { worker_id } = JSON.parse(await readFile(join(worker.state, 'worker.json'), 'utf8'));
    assert.equal(worker_id, worker.workerId);
  });

  it('stops a task of which the new server knows nothing, and drops its result', async (t) => {
    const server = await startServer(t);
    const { worker, child } = await running(t, server);
    await server.stop();
    await startTestServer(t, { port: server.port });
    await until('the child to be gone', () => !isAlive(child));
    await until(
      'its directory to be gone',
      async () => (await readdir(join(worker.state, 'tasks'))).length === 0,
    );
    assert.deepEqual(await outbox(worker.state), []);
  });

  it('gives up an id that belongs to another principal', async (t) => {
    const principals = ['ann:a-token:executor', 'bob:b-token:executor'];
    const server = await startServer(t, { principals });
    const first = await startTestWorker(t, server, { token: 'a-token' });
    await first.stop();
    const second = await startTestWorker(t, server, { token: 'b-token', state: first.state });
    assert.notEqual(second.workerId, first.workerId);
  });
});
