import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import WebSocket from 'ws';
import { start } from '../cli/cli-support.ts';
import { clientOf } from '../support/client.ts';
import { JOB } from '../support/job.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

/** A server process on a state directory, and a client of it. */
async function serve(t: TestContext, state: string) {
  const process = start('jq-server', ['--port', '0', '--state', state, '--json', '--log-level', 'error']);
  t.after(() => process.child.kill('SIGKILL'));
  const url = await until('the server listens', () => {
    const line = process.said.stdout.split('\n').find((text) => text.includes('"listening"'));
    return line && (JSON.parse(line) as { url: string }).url;
  });
  const client = clientOf(t, url);
  return { ...process, url, client };
}

describe('the server as a process', () => {
  test('keeps all that it acknowledged before a SIGKILL', async (t) => {
    const state = await temporaryDirectory(t);
    const first = await serve(t, state);
    const acknowledged: string[] = [];
    let open = true;
    const submitting = Array.from({ length: 8 }, async () => {
      while (open) {
        try {
          acknowledged.push((await first.client.call('submitJob', { body: JOB })).id);
        } catch {
          open = false;
        }
      }
    });
    await until('some jobs are acknowledged', () => acknowledged.length > 50);
    first.child.kill('SIGKILL');
    await first.outcome;
    await Promise.all(submitting);

    const second = await serve(t, state);
    const found = new Set(
      (await second.client.call('listJobs', { query: { limit: 1000 } })).map((job) => job.id),
    );
    assert.deepEqual(
      acknowledged.filter((id) => !found.has(id)),
      [],
    );
    const stats = await second.client.call('getStats');
    assert.equal(stats.jobs_by_status.queued, found.size);
  });

  test('ends in an orderly way at SIGTERM: streams are closed with 1001, the exit code is 0', async (t) => {
    const server = await serve(t, await temporaryDirectory(t));
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/events/stream`);
    await once(socket, 'open');
    const closed = once(socket, 'close');
    const { worker_id } = await server.client.call('registerWorker', { body: {} });
    const waiting = server.client.call('lease', { params: { id: worker_id }, body: { wait_s: 20 } });
    await server.client.call('getStats');
    server.child.kill('SIGTERM');
    assert.equal((await closed)[0], 1001);
    assert.deepEqual(await waiting, { task: null });
    assert.deepEqual((({ code, signal }) => [code, signal])(await server.outcome), [0, null]);
  });

  test('lets a job go on where it was when it is started again on the same state', async (t) => {
    const state = await temporaryDirectory(t);
    const first = await serve(t, state);
    const job = await first.client.call('submitJob', { body: JOB });
    const body = { version: { packages: { demo: '1' } } };
    const { worker_id } = await first.client.call('registerWorker', { body });
    const { task } = await first.client.call('lease', { params: { id: worker_id }, body: {} });
    assert.ok(task);
    first.child.kill('SIGKILL');
    await first.outcome;

    const { client } = await serve(t, state);
    const at = { params: { id: task.task_id }, query: { worker_id, attempt: task.attempt } };
    await client.call('startTask', at);
    await client.call('completeTask', { ...at, body: { status: 'succeeded' } });
    assert.equal((await client.call('getJob', { params: { id: job.id } })).status, 'succeeded');
  });
});
