import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { SupervisorSettings } from '../../actors/server/core.ts';
import type { JobView } from '../../machines/schema/views.ts';
import { job, TestCluster } from '../support/cluster.ts';
import { until } from '../support/until.ts';

const MANY = 7;
const SLICE = 2;

const many = (differs: Record<string, unknown> = {}) =>
  job({
    pipeline: null,
    pipelines: Array.from({ length: MANY }, (_, inline) => ({ kind: 'inline_json', inline })),
    retry: { max_attempts: 1 },
    ...differs,
  });

const start = (t: TestContext, settings: Partial<SupervisorSettings> = {}) =>
  TestCluster.start(t, { sliceSize: SLICE, ...settings });

const diskFull = () => Object.assign(new Error('SQLITE_FULL: the disk is full'), { code: 'SQLITE_FULL' });

/** Holds a commit, after so many that pass; then it is made, or fails. */
function hold(cluster: TestCluster, passing: number) {
  let left = passing;
  let reach: () => void = () => {};
  let release: (fails: boolean) => void = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const released = new Promise<boolean>((resolve) => {
    release = resolve;
  });
  cluster.faults.beforeCommit = async () => {
    if (left-- > 0) return;
    delete cluster.faults.beforeCommit;
    reach();
    if (await released) throw diskFull();
  };
  return { reached, go: () => release(false), fail: () => release(true) };
}

const counts = ({ status, aggregate: a }: JobView) =>
  `${status}: ${a.num_queued} queued, ${a.num_running} running, ${a.num_failed} failed, ${a.num_cancelled} cancelled`;

/** How a job looks after each commit. */
function watch(cluster: TestCluster, id: string): string[] {
  const looks: string[] = [];
  cluster.faults.afterCommit = async () => {
    looks.push(counts(await cluster.job(id)));
  };
  return looks;
}

const statuses = async (cluster: TestCluster, id: string) =>
  (await cluster.tasks(id)).map(({ status }) => status);
const all = (status: string) => Array.from({ length: MANY }, () => status);

/** A job all of whose tasks have failed. */
async function failed(cluster: TestCluster): Promise<string> {
  const { id } = await cluster.submit(many());
  const worker = await cluster.register({ slots_total: MANY });
  for (const task of await worker.lease(MANY)) await worker.fail(task, { error: 'it broke' });
  assert.equal((await cluster.job(id)).status, 'failed');
  return id;
}

describe('a job of many tasks', () => {
  test('is cancelled slice by slice, each a commit of its own, with exact counts in between', async (t) => {
    const cluster = await start(t);
    const { id } = await cluster.submit(many());
    const looks = watch(cluster, id);
    await cluster.cancel(id);
    assert.deepEqual(looks, [
      'cancelling: 5 queued, 0 running, 0 failed, 2 cancelled',
      'cancelling: 3 queued, 0 running, 0 failed, 4 cancelled',
      'cancelling: 1 queued, 0 running, 0 failed, 6 cancelled',
      'cancelled: 0 queued, 0 running, 0 failed, 7 cancelled',
    ]);
    const told = all('task_cancelled');
    assert.deepEqual(await cluster.eventTypes(id), [
      ...['job_submitted', 'job_cancel_requested', ...told, 'job_cancelled'],
    ]);
    assert.equal((await cluster.port.reads.stats()).tasks_by_status.cancelled, MANY);
  });

  test('is queued again slice by slice, and no task of it is leased before the last', async (t) => {
    const cluster = await start(t);
    const id = await failed(cluster);
    const worker = await cluster.register({ slots_total: MANY });
    const asking = worker.lease(MANY, 20);
    const looks = watch(cluster, id);
    await cluster.retry(id);
    const leased = await asking;
    assert.deepEqual(looks.slice(0, 4), [
      'queued: 2 queued, 0 running, 5 failed, 0 cancelled',
      'queued: 4 queued, 0 running, 3 failed, 0 cancelled',
      'queued: 6 queued, 0 running, 1 failed, 0 cancelled',
      'running: 7 queued, 0 running, 0 failed, 0 cancelled',
    ]);
    const order = (await cluster.tasks(id)).map((task) => task.id);
    assert.deepEqual(
      leased.map(({ task_id }) => task_id),
      order,
    );
    assert.deepEqual(
      leased.map(({ attempt }) => attempt),
      order.map(() => 2),
    );
    const views = await cluster.tasks(id);
    assert.deepEqual(new Set(views.map(({ max_attempts }) => max_attempts)), new Set([2]));
  });

  test('is withheld as a whole from the first commit on, while others behind it are leased', async (t) => {
    const cluster = await start(t);
    const { id } = await cluster.submit(many({ priority: 1 }));
    const other = await cluster.submit();
    const worker = await cluster.register({ slots_total: MANY });
    const second = hold(cluster, 1);
    const cancelling = cluster.cancel(id);
    await second.reached;
    const asking = worker.lease(MANY, 20);
    second.go();
    const leased = await asking;
    assert.deepEqual(
      leased.map(({ task_id }) => task_id),
      [(await cluster.onlyTask(other.id)).id],
    );
    await cancelling;
    assert.deepEqual(await statuses(cluster, id), all('cancelled'));
  });

  test('keeps others waiting for no more than a slice', async (t) => {
    const cluster = await start(t);
    const { id } = await cluster.submit(many());
    const worker = await cluster.register();
    let commits = 0;
    cluster.faults.afterCommit = async () => {
      commits++;
    };
    const cancelling = cluster.cancel(id);
    const served = [cluster.submit(), cluster.register(), worker.heartbeat()];
    await Promise.all(served);
    assert.ok(commits <= 2, `others were answered after ${commits} commits`);
    await cancelling;
    assert.ok(commits >= 4, `${commits} commits`);
  });

  test('shares a turn with others that are cancelled at the same time', async (t) => {
    const cluster = await start(t);
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push((await cluster.submit(many())).id);
    let before = 0;
    const told: number[] = [];
    cluster.faults.afterCommit = async () => {
      const { cancelled = 0 } = (await cluster.port.reads.stats()).tasks_by_status;
      told.push(cancelled - before);
      before = cancelled;
    };
    await Promise.all(ids.map((id) => cluster.cancel(id)));
    for (const id of ids) assert.deepEqual(await statuses(cluster, id), all('cancelled'));
    assert.ok(Math.max(...told) <= SLICE, `${told} tasks a turn`);
  });
});

describe('in the middle of a cancellation', () => {
  /** A job of which a worker runs six tasks and was leased the seventh; the first slice of its cancellation is over. */
  async function inTheMiddle(t: TestContext, settings: Partial<SupervisorSettings> = {}) {
    const cluster = await start(t, settings);
    const { id } = await cluster.submit(many({ timeout_seconds: 30, retry: { max_attempts: 5 } }));
    const worker = await cluster.register({ slots_total: MANY });
    const tasks = await worker.lease(MANY);
    for (const task of tasks.slice(0, -1)) await worker.start(task);
    const second = hold(cluster, 1);
    const cancelling = cluster.cancel(id);
    await second.reached;
    return { cluster, id, worker, tasks, second, cancelling };
  }

  type Middle = Awaited<ReturnType<typeof inTheMiddle>>;

  test('what a worker reports of a task that was not told yet counts as if it had been', async (t) => {
    const { cluster, id, worker, tasks, second, cancelling } = await inTheMiddle(t);
    const [, , , , completed, broken, leased] = tasks as [never, never, never, never, never, never, never];
    const reports = Promise.all([
      worker.complete(completed),
      worker.fail(broken, { error: 'it broke' }),
      assert.rejects(worker.start(leased), { code: 'not_holder' }),
    ]);
    second.go();
    assert.deepEqual((await reports).slice(0, 2), [{ ok: true }, { ok: true, requeued: false }]);
    await cancelling;
    assert.deepEqual((await statuses(cluster, id)).slice(4), ['cancelled', 'cancelled', 'cancelled']);
    for (const task of tasks.slice(0, 4)) await worker.fail(task);
    assert.equal((await cluster.job(id)).status, 'cancelled');
    assert.equal((await cluster.eventTypes(id)).at(-1), 'job_cancelled');
  });

  test('a heartbeat names every task to stop, told or not', async (t) => {
    const { worker, tasks, second, cancelling } = await inTheMiddle(t);
    const ids = tasks.map(({ task_id }) => task_id);
    const active = tasks.map(({ task_id, attempt }) => ({ task_id, attempt }));
    const [unlisted, listed] = [worker.heartbeat(), worker.heartbeat(active)];
    second.go();
    assert.deepEqual((await unlisted).cancel_task_ids.sort(), [...ids].sort());
    assert.deepEqual((await listed).cancel_task_ids.sort(), [...ids].sort());
    await cancelling;
  });

  test('a heartbeat that waits is answered with the first slice, and the next one names the rest too', async (t) => {
    const cluster = await start(t);
    const { id } = await cluster.submit(many());
    const worker = await cluster.register({ slots_total: MANY });
    const tasks = await worker.lease(MANY);
    const ids = tasks.map(({ task_id }) => task_id);
    for (const task of tasks.slice(0, -1)) await worker.start(task);
    const waiting = worker.heartbeat(undefined, 10);
    await cluster.cancel(id);
    assert.deepEqual((await waiting).cancel_task_ids, ids.slice(0, SLICE));
    // Those that it knows of are listed again unless it says so.
    assert.deepEqual((await worker.heartbeat(undefined, 10)).cancel_task_ids.sort(), [...ids].sort());
    const active = tasks.map(({ task_id, attempt }, i) => ({ task_id, attempt, stopping: i < SLICE }));
    assert.deepEqual((await worker.heartbeat(active, 10)).cancel_task_ids, ids.slice(SLICE));
  });

  const comings: [string, Partial<SupervisorSettings>, (middle: Middle) => Promise<unknown>][] = [
    [
      'a lease that expires',
      { leaseTtl: 60, workerDeadAfter: 600 },
      ({ cluster }) => cluster.clock.advance(61),
    ],
    [
      'an attempt that times out',
      { leaseTtl: 600, workerDeadAfter: 600 },
      ({ cluster }) => cluster.clock.advance(91),
    ],
    [
      'a lease that reached nobody',
      {},
      async ({ cluster, worker, tasks }) => {
        cluster.port
          .send({ type: 'lease_undelivered', worker_id: worker.id, tasks: tasks.slice(-1) })
          .catch(() => {});
      },
    ],
  ];
  for (const [what, settings, comes] of comings) {
    test(`${what} ends cancelled, although its task was not told yet`, async (t) => {
      const middle = await inTheMiddle(t, settings);
      const { cluster, id, worker, tasks, second, cancelling } = middle;
      await comes(middle);
      second.go();
      await cancelling;
      assert.equal((await statuses(cluster, id)).at(-1), 'cancelled');
      const types = new Set(await cluster.eventTypes(id));
      for (const type of ['task_requeued', 'task_lost', 'task_failed']) assert.ok(!types.has(type), type);
      for (const task of tasks) await worker.fail(task).catch(() => {});
      assert.equal((await cluster.job(id)).status, 'cancelled');
    });
  }

  test('a second request waits for the same end, and a retry is refused', async (t) => {
    const { cluster, id, second, cancelling } = await inTheMiddle(t);
    const again = cluster.cancel(id);
    const retried = assert.rejects(cluster.retry(id), { code: 'illegal_transition' });
    second.go();
    await Promise.all([cancelling, again, retried]);
    const types = await cluster.eventTypes(id);
    assert.equal(types.filter((type) => type === 'job_cancel_requested').length, 2);
  });

  test('a store that fails undoes no slice before, and who asked is told that it goes on', async (t) => {
    const cluster = await start(t);
    const { id } = await cluster.submit(many());
    const third = hold(cluster, 2);
    const cancelling = cluster.cancel(id);
    await third.reached;
    third.fail();
    assert.deepEqual(await cancelling, { job_id: id });
    assert.equal(counts(await cluster.job(id)), 'cancelling: 3 queued, 0 running, 0 failed, 4 cancelled');
    await cluster.clock.advance(1.1);
    await until('the job is cancelled', async () => (await cluster.job(id)).status === 'cancelled');
    assert.deepEqual(await statuses(cluster, id), all('cancelled'));
  });

  test('a refused first slice is refused as a whole, and the job is leased from again', async (t) => {
    const cluster = await start(t);
    const { id } = await cluster.submit(many());
    const first = hold(cluster, 0);
    const cancelling = assert.rejects(cluster.cancel(id), { code: 'store_unavailable' });
    await first.reached;
    first.fail();
    await cancelling;
    assert.deepEqual(await statuses(cluster, id), all('queued'));
    const worker = await cluster.register({ slots_total: MANY });
    assert.equal((await worker.lease(MANY)).length, MANY);
  });

  for (const [what, ask] of [
    ['cancelled', (cluster: TestCluster, id: string) => cluster.cancel(id)],
    ['queued', (cluster: TestCluster, id: string) => cluster.retry(id)],
  ] as const) {
    test(`a server that stops answers who waits, and the next one goes on until all are ${what}`, async (t) => {
      const cluster = await start(t);
      const id = what === 'queued' ? await failed(cluster) : (await cluster.submit(many())).id;
      const second = hold(cluster, 1);
      const asked = ask(cluster, id);
      await second.reached;
      const stopped = cluster.stop();
      second.go();
      await Promise.all([asked, stopped]);
      await cluster.start();
      await until('it is over', async () => (await statuses(cluster, id)).every((s) => s === what));
      assert.equal((await cluster.job(id)).status, what);
      const worker = await cluster.register({ slots_total: MANY });
      assert.equal((await worker.lease(MANY)).length, what === 'queued' ? MANY : 0);
    });
  }
});

test('a retry of chosen tasks goes on after a restart with those alone', async (t) => {
  const cluster = await start(t);
  const id = await failed(cluster);
  const chosen = (await cluster.tasks(id)).filter((_, i) => i !== 1 && i !== 4).map((task) => task.id);
  const second = hold(cluster, 1);
  const asked = cluster.retry(id, chosen.toReversed());
  await second.reached;
  second.fail();
  await asked;
  assert.equal(counts(await cluster.job(id)), 'queued: 2 queued, 0 running, 5 failed, 0 cancelled');
  await cluster.restart();
  await until('all have come back', async () => (await cluster.job(id)).aggregate.num_queued === 5);
  const worker = await cluster.register({ slots_total: MANY });
  const leased = await worker.lease(MANY);
  assert.deepEqual(
    leased.map(({ task_id }) => task_id),
    chosen,
  );
  for (const task of leased) {
    await worker.start(task);
    await worker.complete(task);
  }
  assert.equal((await cluster.job(id)).status, 'succeeded');
  await assert.rejects(cluster.retry(id, [chosen[0] as string]), { code: 'illegal_transition' });
});

test('a retry that is cancelled in the middle ends as if all had been queued again first', async (t) => {
  const cluster = await start(t);
  const id = await failed(cluster);
  const second = hold(cluster, 1);
  const retried = cluster.retry(id);
  await second.reached;
  const cancelled = cluster.cancel(id);
  const again = assert.rejects(cluster.retry(id), { code: 'illegal_transition' });
  second.go();
  await Promise.all([retried, cancelled, again]);
  assert.equal(counts(await cluster.job(id)), 'cancelled: 0 queued, 0 running, 0 failed, 7 cancelled');
  const types = await cluster.eventTypes(id);
  assert.equal(types.filter((type) => type === 'task_requeued').length, MANY);
  assert.equal(types.at(-1), 'job_cancelled');
});
