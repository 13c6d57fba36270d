import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { ResponseError } from '../../gateway/client/errors.ts';
import { bytesOf, LIMITS } from '../../machines/protocol/limits.ts';
import type { Seeded } from '../support/seeded.ts';
import { askUnread } from '../support/unread.ts';
import type { Target } from './target.ts';

const MIB = 1024 * 1024;

export interface OversizedOptions {
  chance: Seeded;
  /** Tasks that are reported with whatever a body may hold, half of them as failed; and as many workers. */
  rows: number;
  /** Clients that ask for one of the views and do not read it. */
  stalled: number;
}

export interface OversizedFigures {
  /** Bytes that were sent in reports, and bytes of all views that show what became of them. */
  sent: number;
  shown: number;
  refused: number;
  stalled: number;
}

/**
 * Tries to make the views of a server larger than it can bear, with requests that anybody with the right may send:
 * submissions and registrations at their limits and beyond, reports of up to a whole body. Then all views are read
 * whole, and asked for by clients that do not read.
 */
export async function oversizedViews(target: Target, options: OversizedOptions): Promise<OversizedFigures> {
  const { chance, rows, stalled } = options;
  const refused = await refusals(target, chance);
  const job = await largestJob(target, rows);
  const workers = await largestWorkers(target, rows);
  const sent = await report(target, chance, rows, workers[0] as string);
  const views = [
    ...[`/v1/jobs/${job}`, `/v1/jobs/${job}/tasks`, `/v1/jobs/${job}/ranking`, `/v1/jobs/${job}/request`],
    ...[`/v1/jobs/${job}/events?limit=5000`, '/v1/jobs?limit=1000', '/v1/workers', '/v1/events?limit=5000'],
  ];
  let shown = 0;
  for (const view of views) shown += await readWhole(target, view);
  await assertWithin(target, job, rows);
  await unread(
    target,
    Array.from({ length: stalled }, () => chance.pick(views)),
  );
  await target.assertUnharmed('views as large as they get');
  return { sent, shown, refused, stalled };
}

const filled = (bytes: number): string => 'é'.repeat(Math.floor(bytes / 2));
const labels = Object.fromEntries(
  Array.from({ length: LIMITS.members }, (_, i) => [
    `${i}`.padEnd(LIMITS.key, 'k'),
    'v'.repeat(LIMITS.value),
  ]),
);

/** What would stay in a list for good is refused, by its name. @returns how often */
async function refusals({ client }: Target, chance: Seeded): Promise<number> {
  const long = 'x'.repeat(chance.pick([1001, 1_000_000, 15_000_000]));
  const more = Object.fromEntries(Array.from({ length: LIMITS.members + 1 }, (_, i) => [`l${i}`, '']));
  const submit = (differs: object) => () =>
    client.call('submitJob', { text: JSON.stringify(jobOf(1, differs)) });
  const register = (body: object) => () => client.call('registerWorker', { body });
  const tries: [RegExp, () => Promise<unknown>][] = [
    [/type/, submit({ type: `${long}.run` })],
    [/name/, submit({ name: long })],
    [/labels/, submit({ requirements: { labels: { [long]: 'x' } } })],
    [/labels/, submit({ requirements: { labels: { x: long } } })],
    [/labels/, submit({ requirements: { labels: more } })],
    [/name/, register({ name: long })],
    [/labels/, register({ labels: { x: long } })],
    [/labels/, register({ labels: more })],
    [/capabilities/, register({ capabilities: { x: 'x'.repeat(LIMITS.declared) } })],
    [/version/, register({ version: { x: 'x'.repeat(LIMITS.declared) } })],
  ];
  for (const [named, send] of tries) {
    const fault = await send().then(
      () => null,
      (refusal: unknown) => refusal,
    );
    assert.ok(fault instanceof ResponseError, `${fault ?? 'taken'}, and should be refused for ${named}`);
    assert.equal(fault.status, 422, fault.message);
    assert.match(fault.message, named);
    assert.ok(fault.message.length < 10_000, 'in few words');
  }
  return tries.length;
}

const jobOf = (tasks: number, differs: object) => ({
  type: 'demo.run',
  pipelines: Array.from({ length: tasks }, (_, i) => ({ kind: 'path', path: `/p/${i}` })),
  dataset: { kind: 'shared_path', path: `/${'d'.repeat(LIMITS.path - 1)}` },
  ...differs,
});

async function largestJob({ client }: Target, tasks: number): Promise<string> {
  const unknown = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`unknown_${i}`, filled(20_000)]));
  const body = jobOf(tasks, { name: 'n'.repeat(LIMITS.name), retry: { max_attempts: 1 }, ...unknown });
  return (await client.call('submitJob', { text: JSON.stringify(body) })).id;
}

async function largestWorkers({ client }: Target, count: number): Promise<string[]> {
  const body = { labels, slots_total: count, version: { packages: { demo: '1' } } };
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await client.call('registerWorker', { body })).worker_id);
  return ids;
}

/** Reports far beyond what is kept: each is taken. @returns bytes sent */
async function report({ client }: Target, chance: Seeded, rows: number, worker_id: string): Promise<number> {
  const { tasks = [] } = await client.call('lease', { params: { id: worker_id }, body: { max_tasks: rows } });
  assert.equal(tasks.length, rows, 'all are leased');
  let sent = 0;
  const size = (limit: number) => chance.pick([limit - 100, limit, limit + 1, 3 * limit, 14 * MIB]);
  const text = (limit: number) => {
    const value = filled(Math.min(14 * MIB, size(limit)));
    sent += bytesOf(value);
    return value;
  };
  for (const [i, task] of tasks.entries()) {
    const at = { params: { id: task.task_id }, query: { worker_id, attempt: task.attempt } };
    await client.call('startTask', at);
    const told = chance.chance(0.5) ? { message: text(LIMITS.message) } : { data: { x: text(LIMITS.data) } };
    await client.call('reportEvents', { ...at, body: { type: 'log', ...told } });
    if (i % 2 === 0) {
      const extra = { a: 1, x: text(LIMITS.extra) };
      const metrics = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`m${n}`, n]));
      const body = { status: 'succeeded' as const, metrics: { best_rmse: i, ...metrics }, extra };
      await client.call('completeTask', { ...at, body });
    } else {
      const said = chance.chance(0.5)
        ? { error: text(LIMITS.error) }
        : { error: 'e', traceback: text(LIMITS.traceback) };
      await client.call('failTask', { ...at, body: said });
    }
  }
  return sent;
}

/** A view as a client that keeps up gets it. @returns its bytes */
async function readWhole({ url }: Target, path: string): Promise<number> {
  const answer = await fetch(url + path);
  assert.equal(answer.status, 200, path);
  const body = await answer.text();
  JSON.parse(body);
  return Buffer.byteLength(body);
}

/** What is shown of each report is within the limits, and says where it was cut. */
async function assertWithin({ client }: Target, job: string, rows: number): Promise<void> {
  const tasks = await client.call('listJobTasks', { params: { id: job } });
  assert.equal(tasks.length, rows);
  for (const { status, result, error } of tasks) {
    if (status === 'succeeded') {
      const { extra, metrics } = result as { extra: object; metrics: object };
      assert.ok(bytesOf(JSON.stringify(extra)) <= LIMITS.extra, 'extra');
      assert.ok(Object.keys(metrics).length <= LIMITS.numbers, 'metrics');
    } else assert.ok(bytesOf(String(error)) <= LIMITS.error, `error of a task that is ${status}`);
  }
  const events = await client.call('listJobEvents', { params: { id: job }, query: { limit: 5000 } });
  for (const { message, data } of events) {
    assert.ok(bytesOf(message) <= LIMITS.message, 'message');
    assert.ok(bytesOf(JSON.stringify(data)) <= LIMITS.data + LIMITS.traceback, 'data');
  }
}

/** Clients that ask and do not read, while others are served. */
async function unread(target: Target, paths: readonly string[]): Promise<void> {
  const sockets: Socket[] = [];
  try {
    for (const path of paths) sockets.push(await askUnread(target.port, path));
    for (let i = 0; i < 20; i++) {
      await target.client.call('submitJob', { text: JSON.stringify(jobOf(1, { name: `beside ${i}` })) });
      await target.client.call('getStats');
    }
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}
