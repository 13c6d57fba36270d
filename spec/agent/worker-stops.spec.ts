import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { exists, temporaryFolder } from './folder.ts';
import { isAlive, logOf, pidIn, startTestWorker, submit, taskIn, taskOf } from './support.ts';

const cancel = (server: TestServer, id: string) => server.client.call('cancelJob', { params: { id } });
const jobIn = (server: TestServer, id: string, status: string) =>
  until(`the job to be ${status}`, async () => {
    const job = await server.client.call('getJob', { params: { id } });
    return job.status === status && job;
  });

describe('cancelling a job', () => {
  for (const behaviour of ['sleep', 'stubborn']) {
    it(`ends a running child (${behaviour}), and the task counts as cancelled`, async (t) => {
      const server = await startTestServer(t);
      await startTestWorker(t, server);
      const mark = join(await temporaryFolder(t), 'pid');
      const job = await submit(server, { do: behaviour, mark });
      const child = await pidIn(mark);
      assert.equal((await cancel(server, job)).status, 'cancelling');
      await jobIn(server, job, 'cancelled');
      assert.equal(isAlive(child), false, 'reported only once the child was gone');
      assert.equal((await taskOf(server, job)).status, 'cancelled');
      assert.match(await logOf(server, job), /^asleep\n(no\n)?\[jq-worker\] cancelled\n$/);
    });
  }

  it('reaches the worker long before its next heartbeat is due', async (t) => {
    const server = await startTestServer(t, {
      heartbeatInterval: 3600,
      leaseTtl: 7200,
      workerDeadAfter: 7200,
    });
    await startTestWorker(t, server);
    const mark = join(await temporaryFolder(t), 'pid');
    const job = await submit(server, { do: 'sleep', mark });
    await pidIn(mark);
    await cancel(server, job);
    await jobIn(server, job, 'cancelled');
  });

  it('frees the slot for the next task', async (t) => {
    const server = await startTestServer(t);
    await startTestWorker(t, server);
    const mark = join(await temporaryFolder(t), 'pid');
    const job = await submit(server, { do: 'sleep', mark });
    await pidIn(mark);
    await cancel(server, job);
    const next = await submit(server, { do: 'echo' });
    assert.equal((await taskIn(server, next)).status, 'succeeded');
  });
});

describe('a timeout', () => {
  it('ends the child; the attempt fails with its number of seconds, and may be repeated', async (t) => {
    const server = await startTestServer(t);
    await startTestWorker(t, server);
    const mark = join(await temporaryFolder(t), 'pid');
    const differs = { timeout_seconds: 1.5, retry: { max_attempts: 1 } };
    const job = await submit(server, { do: 'stubborn', mark }, differs);
    const child = await pidIn(mark);
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.error], ['failed', 'timed out after 1.5 s']);
    assert.equal(isAlive(child), false);
    const events = await server.client.call('listJobEvents', { params: { id: job } });
    assert.equal(events.find((event) => event.type === 'task_failed')?.data.retriable, true);
  });
});

describe('a worker that has to stop', () => {
  it('finishes what it runs and takes nothing new', async (t) => {
    const server = await startTestServer(t);
    const worker = await startTestWorker(t, server, { slots: 2 });
    const folder = await temporaryFolder(t);
    const [mark, go] = [join(folder, 'mark'), join(folder, 'go')];
    const running = await submit(server, { do: 'wait', mark, until: go });
    await until('the child', () => exists(mark));
    worker.drain();
    const later = await submit(server, { do: 'echo' });
    await writeFile(go, '');
    await worker.ended;
    assert.equal((await taskOf(server, running)).status, 'succeeded');
    assert.equal((await taskOf(server, later)).status, 'queued');
    assert.deepEqual(await readdir(join(worker.state, 'outbox')), []);
  });

  it('stops at once when it has nothing to do', async (t) => {
    const server = await startTestServer(t);
    const worker = await startTestWorker(t, server);
    await worker.stop();
  });

  it('cancels what it runs at the second request; the task is queued again', async (t) => {
    const server = await startTestServer(t);
    const worker = await startTestWorker(t, server);
    const mark = join(await temporaryFolder(t), 'pid');
    const job = await submit(server, { do: 'stubborn', mark });
    const child = await pidIn(mark);
    worker.drain();
    worker.drain();
    await worker.ended;
    assert.equal(isAlive(child), false);
    const task = await taskOf(server, job);
    assert.deepEqual([task.status, task.attempt], ['queued', 1]);
    const events = await server.client.call('listJobEvents', { params: { id: job } });
    const failed = events.find((event) => event.type === 'task_failed');
    assert.match(`${failed?.message}`, /worker stopped/);
  });

  it('gives its state directory free, for the next one', async (t) => {
    const server = await startTestServer(t);
    const worker = await startTestWorker(t, server);
    await assert.rejects(startTestWorker(t, server, { state: worker.state }), /in use by another process/);
    await worker.stop();
    const next = await startTestWorker(t, server, { state: worker.state });
    assert.equal(next.workerId, worker.workerId);
  });
});
