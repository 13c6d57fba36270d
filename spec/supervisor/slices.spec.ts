import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TestCluster } from '../support/cluster.ts';
import { until } from '../support/until.ts';
import { all, counts, failed, hold, MANY, many, SLICE, start } from './slices-support.ts';

/** How a job looks after each commit. */
function watch(cluster: TestCluster, id: string): string[] {
  const looks: string[] = [];
  cluster.faults.afterCommit = async () => {
    looks.push(counts(await cluster.job(id)));
  };
  return looks;
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

  test('is withheld as a whole from the first commit on, while tasks of later jobs are leased', async (t) => {
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
    assert.deepEqual(await cluster.statuses(id), all('cancelled'));
  });

  test('keeps other messages waiting for no more than a slice', async (t) => {
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
    for (const id of ids) assert.deepEqual(await cluster.statuses(id), all('cancelled'));
    assert.ok(Math.max(...told) <= SLICE, `${told} tasks a turn`);
  });
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
