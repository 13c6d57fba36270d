import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { RunningWorker } from '../../actors/worker/worker.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { FaultyLine } from './faulty-line.ts';
import { exists, temporaryFolder } from './folder.ts';
import {
  isAlive,
  logOf,
  pidIn,
  serverAndWorker,
  startTestWorker,
  submit,
  taskIn,
  taskOf,
} from './support.ts';

const cancel = (server: TestServer, id: string) => server.client.call('cancelJob', { params: { id } });
const jobIn = (server: TestServer, id: string, status: string) =>
  until(`the job to be ${status}`, async () => {
    const job = await server.client.call('getJob', { params: { id } });
    return job.status === status && job;
  });

describe('cancelling a job', () => {
  for (const behaviour of ['sleep', 'stubborn']) {
    it(`ends a running child (${behaviour}), and the task counts as cancelled`, async (t) => {
      const { server } = await serverAndWorker(t);
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
});

describe('a timeout', () => {
  it('ends the child; the attempt fails with its number of seconds, and may be repeated', async (t) => {
    const { server } = await serverAndWorker(t);
    const mark = join(await temporaryFolder(t), 'pid');
    const differs = { timeout_seconds: 4.5, retry: { max_attempts: 1 } };
    const job = await submit(server, { do: 'stubborn', mark }, differs);
    const child = await pidIn(mark);
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.error], ['failed', 'timed out after 4.5 s']);
    assert.equal(isAlive(child), false);
    const events = await server.client.call('listJobEvents', { params: { id: job } });
    assert.equal(events.find((event) => event.type === 'task_failed')?.data.retriable, true);
  });
});

describe('a worker that has to stop', () => {
  it('reports that it is draining, and then that it has stopped, so that it need not be found silent', async (t) => {
    const { server, worker } = await serverAndWorker(t);
    const folder = await temporaryFolder(t);
    const [mark, go] = [join(folder, 'mark'), join(folder, 'go')];
    await submit(server, { do: 'wait', mark, until: go });
    await until('the child', () => exists(mark));
    worker.drain();
    const seen = async () => {
      const [view] = await server.client.call('listWorkers');
      return `${view?.status} ${view?.leaving}`;
    };
    await until('it to drain', async () => (await seen()) === 'alive draining');
    await writeFile(go, '');
    await worker.ended;
    assert.equal(await seen(), 'dead stopped');
    const events = await server.client.call('listEvents', { query: { limit: 100 } });
    assert.deepEqual(
      events.map(({ type }) => type).filter((type) => type.startsWith('worker_')),
      ['worker_registered', 'worker_draining', 'worker_stopped'],
    );
  });

  it('runs the task that the server granted at that very moment, rather than lose it', async (t) => {
    const server = await startTestServer(t);
    const proxy = await FaultyLine.start(t, server.port);
    const worker = await startTestWorker(t, proxy);
    // The answer with the task is on its way when the worker is told to stop.
    proxy.fate = (line, from) => (line.request.endsWith('/lease') && from === 'server' ? 'hold' : 'pass');
    const job = await submit(server, { do: 'echo' });
    await taskIn(server, job, 'leased');
    worker.drain();
    proxy.release();
    await worker.ended;
    const task = await taskOf(server, job);
    assert.deepEqual([task.status, task.attempt], ['succeeded', 1]);
  });

  it('has its open request for work answered, so that no task is given to it afterwards', async (t) => {
    const { server, worker } = await serverAndWorker(t, { leaseWaitSeconds: 60 });
    await worker.stop();
    const job = await submit(server, { do: 'echo' });
    const next = await startTestWorker(t, server);
    const task = await taskIn(server, job);
    assert.deepEqual([task.worker_id, task.attempt], [next.workerId, 1]);
  });

  for (const [when, config, tell] of [
    ['at the second request', {}, (worker: RunningWorker) => worker.drain()],
    ['when the time is over that it has after the first', { noticeSeconds: 0 }, () => {}],
  ] as const) {
    it(`gives back what it runs ${when}, which costs no attempt, though nobody else is there`, async (t) => {
      const { server, worker } = await serverAndWorker(t, config);
      const mark = join(await temporaryFolder(t), 'pid');
      const job = await submit(server, { do: 'stubborn', mark }, { retry: { max_attempts: 1 } });
      const child = await pidIn(mark);
      worker.drain();
      tell(worker);
      await worker.ended;
      assert.equal(isAlive(child), false);
      const { status, attempt, max_attempts, error } = await taskOf(server, job);
      assert.deepEqual([status, attempt, max_attempts, error], ['queued', 1, 2, null]);
      const events = await server.client.call('listJobEvents', { params: { id: job } });
      const [last] = events.filter(({ type }) => type.startsWith('task_')).slice(-1);
      assert.deepEqual([last?.type, last?.data.reason], ['task_requeued', 'preempted']);
      assert.match(await logOf(server, job), /\n\[jq-worker\] given back: its worker has to end\n$/);
    });
  }

  it('lets what runs finish, however long that takes, unless it is told otherwise', async (t) => {
    const { server, worker } = await serverAndWorker(t);
    const folder = await temporaryFolder(t);
    const [mark, go] = [join(folder, 'mark'), join(folder, 'go')];
    const job = await submit(server, { do: 'wait', mark, until: go });
    await until('the child', () => exists(mark));
    worker.drain();
    await writeFile(go, '');
    await worker.ended;
    assert.equal((await taskOf(server, job)).status, 'succeeded');
  });

  it('gives back a task whose process was told to end with it, as on a machine that is taken away', async (t) => {
    const { server, worker } = await serverAndWorker(t);
    const mark = join(await temporaryFolder(t), 'pid');
    const job = await submit(server, { do: 'sleep', mark }, { retry: { max_attempts: 1 } });
    const child = await pidIn(mark);
    // Whoever is told first.
    process.kill(child, 'SIGTERM');
    worker.drain();
    await worker.ended;
    const { status, attempt, max_attempts } = await taskOf(server, job);
    assert.deepEqual([status, attempt, max_attempts], ['queued', 1, 2]);
  });

  it('takes the end of a process that somebody else told to end for a failure of its task, unless it has to end itself', async (t) => {
    const { server } = await serverAndWorker(t);
    const mark = join(await temporaryFolder(t), 'pid');
    const job = await submit(server, { do: 'sleep', mark }, { retry: { max_attempts: 1 } });
    process.kill(await pidIn(mark), 'SIGTERM');
    const { status, error } = await taskIn(server, job);
    assert.deepEqual([status, error], ['failed', 'the analysis was ended by SIGTERM']);
  });

  it('releases its state directory for the next worker', async (t) => {
    const { server, worker } = await serverAndWorker(t);
    await assert.rejects(startTestWorker(t, server, { state: worker.state }), /in use by another process/);
    await worker.stop();
    const next = await startTestWorker(t, server, { state: worker.state });
    assert.equal(next.workerId, worker.workerId);
  });
});

describe('a request for work that is withdrawn', () => {
  it('is answered at once, and no request of another worker is', async (t) => {
    const server = await startTestServer(t);
    const { client } = server;
    const register = async () =>
      (await client.call('registerWorker', { body: { version: { packages: { demo: '1' } } } })).worker_id;
    const [one, other] = [await register(), await register()];
    const ask = (id: string) => client.call('lease', { params: { id }, body: { wait_s: 60, max_tasks: 2 } });
    const asked = ask(one);
    const stays = ask(other);
    // Repeated, since the first of these may reach the server before what it is about.
    const withdrawn = await until('the answer', async () => {
      const reply = await client.call('lease', { params: { id: one }, body: { wait_s: 60, max_tasks: 0 } });
      assert.deepEqual(reply, { task: null, tasks: [] });
      return Promise.race([asked, new Promise<null>((resolve) => setTimeout(resolve, 20, null))]);
    });
    assert.deepEqual(withdrawn, { task: null, tasks: [] });
    const job = await submit(server, { do: 'echo' });
    assert.deepEqual(
      (await stays).tasks?.map((task) => task.job_id),
      [job],
    );
  });
});
