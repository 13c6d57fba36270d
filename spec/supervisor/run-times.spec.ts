import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import type { RunTimes } from '../../machines/job/run-times.ts';
import { Hand, pipelines, submit } from '../dashboard/hands.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

/** What the store has of a job's times. */
async function stored(server: TestServer, id: string): Promise<RunTimes | null> {
  const filename = `${server.stateDir}/store.sqlite`;
  const db = await open({ filename, driver: sqlite3.Database, mode: sqlite3.OPEN_READONLY });
  const row = await db.get<{ run_times: string | null }>('SELECT run_times FROM jobs WHERE id = ?', id);
  await db.close();
  return row?.run_times ? JSON.parse(row.run_times) : null;
}

describe('how long the tasks of a job take', () => {
  it('is kept with what ends, and makes the view say when the job will have ended, also after a restart', async (t) => {
    const server = await startTestServer(t);
    const job = await submit(server.client, pipelines('a', 'b', 'c', 'd'));
    const estimate = async ({ client } = server) =>
      (await client.call('getJob', { params: { id: job.id } })).estimate ?? null;
    const hand = await Hand.register(server.client, { slots_total: 2 });
    assert.equal(await estimate(), null);
    await hand.finish({ best_rmse: 1 });
    assert.equal(await estimate(), null, 'nothing runs');
    const task = await hand.run();
    const { ends_at = 0, earliest = 0, latest = 0, num_timed } = (await estimate()) ?? {};
    assert.equal(num_timed, 1);
    assert.ok(earliest <= ends_at && ends_at <= latest && ends_at >= task.lease_expires_at - 60);
    assert.deepEqual((await server.client.call('listJobs', {}))[0]?.estimate, await estimate());
    await server.stop();
    const again = await startTestServer(t, { state: server.stateDir });
    assert.equal((await estimate(again))?.num_timed, 1);
  });

  it('counts each attempt that runs as long as it does, however it ends', async (t) => {
    const server = await startTestServer(t);
    const job = await submit(server.client, { ...pipelines('a', 'b', 'c', 'd'), retry: { max_attempts: 2 } });
    const hand = await Hand.register(server.client, { slots_total: 4 });
    const [first, second, third] = [await hand.run(), await hand.run(), await hand.run()];
    assert.ok(((await stored(server, job.id))?.since ?? 0) > 0);
    await hand.fail(first, 'tried again', true);
    await hand.fail(second, 'failed');
    await hand.complete(third, { metrics: { best_rmse: 1 } });
    assert.equal((await stored(server, job.id))?.count, 2, 'what is tried again has not ended');
    await hand.run();
    await server.client.call('cancelJob', { params: { id: job.id } });
    const tasks = await server.client.call('listJobTasks', { params: { id: job.id } });
    const last = tasks.find(({ status }) => status === 'running') ?? assert.fail();
    await server.client.call('completeTask', {
      ...{ params: { id: last.id }, query: { worker_id: hand.id, attempt: last.attempt } },
      body: { status: 'succeeded' },
    });
    const times = (await stored(server, job.id)) ?? assert.fail();
    assert.ok(Math.abs(times.since) < 1e-6, `${times.since}: nothing runs any more`);
  });
});
