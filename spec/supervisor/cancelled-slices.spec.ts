import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { SupervisorSettings } from '../../actors/server/core.ts';
import type { TestCluster } from '../support/cluster.ts';
import { until } from '../support/until.ts';
import { all, counts, failed, hold, MANY, many, SLICE, start } from './slices-support.ts';

describe('in the middle of a cancellation, which goes slice by slice', () => {
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

  test('a report on a task that the cancellation has not reached yet counts as if it had', async (t) => {
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
    assert.deepEqual((await cluster.statuses(id)).slice(4), ['cancelled', 'cancelled', 'cancelled']);
    for (const task of tasks.slice(0, 4)) await worker.fail(task);
    assert.equal((await cluster.job(id)).status, 'cancelled');
    assert.equal((await cluster.eventTypes(id)).at(-1), 'job_cancelled');
  });

  test('the answer to a heartbeat names every task to stop, whether or not the cancellation has reached it', async (t) => {
    const { worker, tasks, second, cancelling } = await inTheMiddle(t);
    const ids = tasks.map(({ task_id }) => task_id);
    const active = tasks.map(({ task_id, attempt }) => ({ task_id, attempt }));
    const [unlisted, listed] = [worker.heartbeat(), worker.heartbeat(active)];
    second.go();
    assert.deepEqual((await unlisted).cancel_task_ids.sort(), [...ids].sort());
    assert.deepEqual((await listed).cancel_task_ids.sort(), [...ids].sort());
    await cancelling;
  });

  test('a heartbeat that waits is answered with the first slice, and the answer to the next names the rest too', async (t) => {
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
      'a lease that never reached its worker',
      {},
      async ({ cluster, worker, tasks }) => {
        cluster.port
          .send({ type: 'lease_undelivered', worker_id: worker.id, tasks: tasks.slice(-1) })
          .catch(() => {});
      },
    ],
  ];
  for (const [what, settings, comes] of comings) {
    test(`${what} ends cancelled, although the cancellation has not reached its task yet`, async (t) => {
      const middle = await inTheMiddle(t, settings);
      const { cluster, id, worker, tasks, second, cancelling } = middle;
      await comes(middle);
      second.go();
      await cancelling;
      assert.equal((await cluster.statuses(id)).at(-1), 'cancelled');
      const types = new Set(await cluster.eventTypes(id));
      for (const type of ['task_requeued', 'task_lost', 'task_failed']) assert.ok(!types.has(type), type);
      for (const task of tasks) await worker.fail(task).catch(() => {});
      assert.equal((await cluster.job(id)).status, 'cancelled');
    });
  }

  test('a second request to cancel is answered at the same end, and a retry is refused', async (t) => {
    const { cluster, id, second, cancelling } = await inTheMiddle(t);
    const again = cluster.cancel(id);
    const retried = assert.rejects(cluster.retry(id), { code: 'illegal_transition' });
    second.go();
    await Promise.all([cancelling, again, retried]);
    const types = await cluster.eventTypes(id);
    assert.equal(types.filter((type) => type === 'job_cancel_requested').length, 2);
  });

  test('a commit that fails undoes no earlier slice, and the client is told that the cancellation goes on', async (t) => {
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
    assert.deepEqual(await cluster.statuses(id), all('cancelled'));
  });

  test('a first slice that cannot be committed refuses the cancellation, and tasks of the job are leased again', async (t) => {
    const cluster = await start(t);
    const { id } = await cluster.submit(many());
    const first = hold(cluster, 0);
    const cancelling = assert.rejects(cluster.cancel(id), { code: 'store_unavailable' });
    await first.reached;
    first.fail();
    await cancelling;
    assert.deepEqual(await cluster.statuses(id), all('queued'));
    const worker = await cluster.register({ slots_total: MANY });
    assert.equal((await worker.lease(MANY)).length, MANY);
  });

  for (const [what, ask] of [
    ['cancelled', (cluster: TestCluster, id: string) => cluster.cancel(id)],
    ['queued', (cluster: TestCluster, id: string) => cluster.retry(id)],
  ] as const) {
    test(`a server that stops answers the clients that wait, and the next one goes on until all tasks are ${what}`, async (t) => {
      const cluster = await start(t);
      const id = what === 'queued' ? await failed(cluster) : (await cluster.submit(many())).id;
      const second = hold(cluster, 1);
      const asked = ask(cluster, id);
      await second.reached;
      const stopped = cluster.stop();
      second.go();
      await Promise.all([asked, stopped]);
      await cluster.start();
      await until('it is over', async () => (await cluster.statuses(id)).every((s) => s === what));
      assert.equal((await cluster.job(id)).status, what);
      const worker = await cluster.register({ slots_total: MANY });
      assert.equal((await worker.lease(MANY)).length, what === 'queued' ? MANY : 0);
    });
  }
});
