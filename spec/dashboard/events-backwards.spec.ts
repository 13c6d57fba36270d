import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startTestServer } from '../support/server.ts';
import { Hand, pipelines, submit } from './hands.ts';

it("reads a job's events backwards with before_id, page by page, and those of one task with task_id", async (t) => {
  const { client } = await startTestServer(t);
  const job = await submit(client, pipelines('a', 'b'));
  const hand = await Hand.register(client, { slots_total: 2 });
  const tasks = [await hand.run(), await hand.run()] as const;
  await hand.print(tasks[0], 'first');
  await hand.print(tasks[1], 'second');
  await submit(client, { name: 'another job' });
  const read = async (query: { before_id?: number; task_id?: string; limit?: number }) =>
    (await client.call('listJobEvents', { params: { id: job.id }, query })).map(({ id }) => id);

  const all = await read({});
  const last = await read({ before_id: Number.MAX_SAFE_INTEGER, limit: 3 });
  assert.deepEqual(last, all.slice(-3), 'the last ones, oldest first');
  assert.deepEqual(await read({ before_id: last[0] as number, limit: 3 }), all.slice(-6, -3));
  assert.deepEqual(await read({ before_id: all[0] as number }), []);

  const ofTask = await client.call('listJobEvents', {
    params: { id: job.id },
    query: { before_id: Number.MAX_SAFE_INTEGER, task_id: tasks[0].task_id, limit: 1 },
  });
  assert.deepEqual(
    ofTask.map(({ message }) => message),
    ['first'],
  );
  await assert.rejects(
    client.call('listJobEvents', { params: { id: 'job_none' }, query: { before_id: 9 } }),
    { status: 404 },
  );
});
