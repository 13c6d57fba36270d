import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { ResponseError } from '../../gateway/client/errors.ts';
import { ClusterError } from '../../machines/protocol/errors.ts';
import { sweep } from '../support/job.ts';
import { startTestServer } from '../support/server.ts';
import { ask, gatewayFor } from './support.ts';

const JOB = sweep(3);

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
  return { client, state: server.stateDir, job_id: job.id, held: [a, b, c] as const };
}

test('many reports may go in one request and are answered in order, each as it would be alone', async (t) => {
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
    assert.ok(fault instanceof ResponseError, String(fault));
    assert.equal(fault.status, 422);
    const paths = fault.faults.map(({ path }) => path).sort();
    assert.deepEqual(paths, ['/reports/1/result/status', '/reports/2/type']);
    return true;
  });
  const events = await client.call('listJobEvents', { params: { id: job_id }, query: {} });
  assert.ok(!events.some(({ type }) => type === 'task_started'), 'a report of the refused request was taken');
});

const file = (role: string, filename: string, content: string) => ({
  ...{ role, filename, kind: role },
  content: Buffer.from(content).toString('base64'),
});

/** Names of what lies in the blob store, and of what is on its way there. */
async function stored(state: string): Promise<{ objects: string[]; uploads: string[] }> {
  const found = await readdir(join(state, 'objects'), { recursive: true, withFileTypes: true });
  const objects = found.filter((entry) => entry.isFile()).map(({ name }) => name);
  return { objects: objects.sort(), uploads: await readdir(join(state, 'uploads')) };
}

const hash = (content: string) => createHash('sha256').update(content).digest('hex');

test('small files of a task may go with the report of its end, and become artifacts as if they were uploaded', async (t) => {
  const { client, state, job_id, held } = await threeLeased(t);
  const [a, b] = held;
  const started = held.map((task) => ({ type: 'start' as const, ...task }));
  await client.call('reportMany', { body: { reports: started } });
  const reports = [
    {
      ...{ type: 'complete' as const, ...a, result: { metrics: { best_rmse: 1 } } },
      files: [
        file('logs', 'run.log', 'a line\n'),
        file('model', 'best_model.txt', 'a model'),
        file('output', '../odd/plot.svg', 'a model'),
      ],
    },
    {
      type: 'fail' as const,
      ...b,
      failure: { error: 'it broke', retriable: false },
      files: [file('logs', 'run.log', '')],
    },
  ];
  for (const round of ['first', 'repeated']) {
    const { results } = await client.call('reportMany', { body: { reports } });
    assert.deepEqual(
      results.map(({ ok }) => ok),
      [true, true],
      round,
    );
    const artifacts = await client.call('listJobArtifacts', { params: { id: job_id } });
    assert.deepEqual(
      artifacts.map(({ role, task_id, kind, filename, size_bytes }) => [
        role,
        task_id,
        kind,
        filename,
        size_bytes,
      ]),
      [
        ['logs', a.task_id, 'logs', 'run.log', 7],
        ['model', a.task_id, 'model', 'best_model.txt', 7],
        ['output', a.task_id, 'output', 'plot.svg', 7],
        ['logs', b.task_id, 'logs', 'run.log', 0],
        ['best_model', null, 'model', 'best_model.txt', 7],
      ],
      round,
    );
    const [task] = await client.call('listJobTasks', { params: { id: job_id } });
    const [logs, model] = artifacts;
    assert.deepEqual(task?.result?.artifacts, { logs: logs?.id, model: model?.id });
    const { body } = await client.download(model?.id ?? '');
    assert.equal(await text(body), 'a model');
    // Equal bytes are one object, and nothing says any more that it is unknown what becomes of them.
    assert.deepEqual(await stored(state), {
      objects: [hash('a line\n'), hash('a model'), hash('')].sort(),
      uploads: [],
    });
  }
});

test('a report that is refused leaves nothing of its files, and removes none of equal files of others', async (t) => {
  const { client, state, held } = await threeLeased(t);
  const [a, b] = held;
  const end = (task: typeof a, ...contents: string[]) => ({
    ...{ type: 'complete' as const, ...task, result: {} },
    files: contents.map((content) => file('output', 'x', content)),
  });
  const { results } = await client.call('reportMany', {
    body: {
      reports: [
        ...held.map((task) => ({ type: 'start' as const, ...task })),
        end({ ...b, attempt: 7 }, 'both', 'only the refused'),
        end(a, 'both'),
      ],
    },
  });
  assert.deepEqual(
    results.map(({ error }) => error?.code),
    [undefined, undefined, undefined, 'stale_attempt', undefined],
  );
  assert.deepEqual(await stored(state), { objects: [hash('both')], uploads: [] });
  const again = await client.call('reportMany', { body: { reports: [end({ ...b, attempt: 7 }, 'both')] } });
  assert.equal(again.results[0]?.ok, false);
  assert.deepEqual(await stored(state), { objects: [hash('both')], uploads: [] });
});

test('files with a report repair an object whose bytes were damaged', async (t) => {
  const { client, state, held } = await threeLeased(t);
  const [a, b] = held;
  const end = (task: typeof a) => ({
    ...{ type: 'complete' as const, ...task, result: {} },
    files: [file('model', 'm', 'a model')],
  });
  const started = held.map((task) => ({ type: 'start' as const, ...task }));
  await client.call('reportMany', { body: { reports: [...started, end(a)] } });
  const sha256 = hash('a model');
  const path = join(state, 'objects', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  await writeFile(path, 'a modem');
  const { results } = await client.call('reportMany', { body: { reports: [end(b)] } });
  assert.deepEqual(results, [{ ok: true }]);
  assert.equal(await readFile(path, 'utf8'), 'a model');
});

test('files that cannot be kept just now refuse their own report, and no other', async () => {
  await using gateway = await gatewayFor();
  gateway.cluster.blobs.place = async () => {
    throw new ClusterError('no_room', 'the disk is full');
  };
  const about = { worker_id: 'worker_1', attempt: 1, result: {} };
  const files = [{ role: 'model', filename: 'm.json', content: 'e30=' }];
  const reports = [
    { type: 'complete', task_id: 'task_1', ...about, files },
    { type: 'complete', task_id: 'task_2', ...about },
  ];
  const { body } = await ask(gateway.port, {
    line: 'POST /v1/tasks/reports',
    body: JSON.stringify({ reports }),
  });
  const { results } = JSON.parse(body) as { results: { ok: boolean; status?: number }[] };
  assert.deepEqual([results.length, results[0]?.status, results[1]?.ok], [2, 507, true]);
  const [sent, ...more] = gateway.cluster.received('complete_task');
  assert.deepEqual([sent?.task_id, more.length], ['task_2', 0]);
});
