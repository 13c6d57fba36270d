import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnsweredError } from '../../gateway/client/errors.ts';
import { startTestServer } from '../support/server.ts';

const JOB = {
  type: 'demo.run',
  pipelines: ['a', 'b', 'c'].map((name) => ({ kind: 'inline_json', inline: { name } })),
  dataset: { kind: 'shared_path', path: '/data' },
};

async function threeLeased(t: Parameters<typeof startTestServer>[0]) {
  const server = await startTestServer(t);
  const { client } = server;
  const job = await client.call('submitJob', { body: JOB as never });
  const { worker_id } = await client.call('registerWorker', {
    body: { slots_total: 3, version: { packages: { demo: '1' } } },
  });
  const { tasks = [] } = await client.call('lease', { params: { id: worker_id }, body: { max_tasks: 3 } });
  const held = tasks.map(({ task_id, attempt }) => ({ task_id, attempt, worker_id }));
  const [a, b, c] = held;
  if (!a || !b || !c) throw new Error('three tasks were expected');
  return { client, job_id: job.id, held: [a, b, c] as const };
}

test('many reports go in one request and are answered one by one, in order, as each would be by itself', async (t) => {
  const { client, job_id, held } = await threeLeased(t);
  const [a, b, c] = held;
  const started = await client.call('reportMany', {
    body: { reports: held.map((task) => ({ type: 'start' as const, ...task })) },
  });
  assert.deepEqual(started.results, [{ ok: true }, { ok: true }, { ok: true }]);

  const { results } = await client.call('reportMany', {
    body: {
      reports: [
        { type: 'events', ...a, events: [{ type: 'log', message: 'nearly there' }] },
        { type: 'complete', ...a, result: { status: 'succeeded', metrics: { best_rmse: 0.25 } } },
        { type: 'fail', ...b, failure: { error: 'it broke' } },
        { type: 'complete', ...c, attempt: 7, result: { status: 'succeeded' } },
        { type: 'start', ...c, task_id: 'task_none' },
        { type: 'complete', ...a, result: { status: 'succeeded', metrics: { best_rmse: 99 } } },
      ],
    },
  });
  assert.deepEqual(
    results.map(({ ok, requeued, status, error }) => [ok, requeued, status, error?.code]),
    [
      [true, undefined, undefined, undefined],
      [true, undefined, undefined, undefined],
      [true, true, undefined, undefined],
      [false, undefined, 409, 'stale_attempt'],
      [false, undefined, 404, 'unknown_id'],
      // Repeated: the same answer, and the first result stays.
      [true, undefined, undefined, undefined],
    ],
  );
  const stored = await client.call('listJobTasks', { params: { id: job_id } });
  assert.deepEqual(
    [a, b, c].map(({ task_id }) => stored.find(({ id }) => id === task_id)?.status),
    ['succeeded', 'queued', 'running'],
  );
  const first = stored.find(({ id }) => id === a.task_id)?.result as { metrics: unknown };
  assert.deepEqual(first.metrics, { best_rmse: 0.25 });
  const events = await client.call('listJobEvents', { params: { id: job_id }, query: {} });
  const types = events.filter(({ task_id }) => task_id === a.task_id).map(({ type }) => type);
  assert.deepEqual(types, ['task_leased', 'task_started', 'log', 'task_completed']);
});

test('one report that is not valid refuses the whole request, says where, and nothing of it is recorded', async (t) => {
  const { client, job_id, held } = await threeLeased(t);
  const [a, b] = held;
  const reports = [
    { type: 'start', ...a },
    { type: 'complete', ...b, result: { status: 'done' } },
    { type: 'begin', ...b },
  ];
  await assert.rejects(client.call('reportMany', { body: { reports: reports as never } }), (fault) => {
    assert.ok(fault instanceof AnsweredError, String(fault));
    assert.equal(fault.status, 422);
    const paths = fault.faults.map(({ path }) => path).sort();
    assert.deepEqual(paths, ['/reports/1/result/status', '/reports/2/type']);
    return true;
  });
  const events = await client.call('listJobEvents', { params: { id: job_id }, query: {} });
  assert.ok(!events.some(({ type }) => type === 'task_started'), 'a report of the refused request was taken');
});
