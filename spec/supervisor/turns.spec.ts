import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { openStore } from '../../actors/server/store/open-store.ts';
import { TASKS } from '../../actors/server/store/tables.ts';
import type { LeasedTask } from '../../gateway/messages.ts';
import { atWork, job, TestCluster, withJob, withWorker } from '../support/cluster.ts';
import { holdCommits } from '../support/hold-commits.ts';
import { sweep } from '../support/job.ts';
import { storeOf } from '../support/test-store.ts';

/** Lets the supervisor take what has been sent. */
async function taken(): Promise<void> {
  for (let i = 0; i < 5; i++) await tick();
}

describe('messages that arrive while a turn is being written', () => {
  test('are not handled meanwhile, not even those that need no commit', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const heardAt = async () => (await cluster.seen.workers())[0]?.last_seen_at as number;
    const before = await heardAt();
    const hold = holdCommits(cluster, 'beforeCommit');
    const submitted = cluster.submit();
    await hold.first;
    await cluster.clock.advance(5);
    const beat = worker.heartbeat();
    const others = [cluster.submit(), cluster.submit()];
    await taken();
    assert.deepEqual([await heardAt(), hold.begun()], [before, 1]);
    hold.release();
    await Promise.all([submitted, beat, ...others]);
    assert.equal(await heardAt(), before + 5);
  });

  test('build on what that turn did, and are answered when they are durable themselves', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const hold = holdCommits(cluster, 'beforeCommit');
    const submitted = cluster.submit();
    await hold.first;
    const leased = worker.lease(1, 30);
    await taken();
    const silent = await Promise.race([submitted, leased, tick().then(() => 'nobody was answered')]);
    assert.equal(silent, 'nobody was answered');
    hold.release();
    const { id } = await submitted;
    const [task] = await leased;
    assert.equal((await cluster.onlyTask(id)).id, task?.task_id);
  });

  test('know an idempotency key of that turn, so that there is nothing more to write', async (t) => {
    const cluster = await TestCluster.start(t);
    const hold = holdCommits(cluster, 'beforeCommit');
    const first = cluster.submit(job({ idempotency_key: 'once' }));
    await hold.first;
    const again = cluster.submit(job({ idempotency_key: 'once' }));
    await taken();
    hold.release();
    assert.equal((await again).id, (await first).id);
    assert.equal(hold.begun(), 1);
    assert.deepEqual(await cluster.eventTypes(), ['job_submitted']);
  });

  test('keep what they need in memory although that turn releases it', async (t) => {
    const { cluster, worker } = await withJob(t);
    const task = await worker.run();
    const large = await cluster.submit(sweep(3000));
    const hold = holdCommits(cluster, 'afterCommit');
    const completed = worker.complete(task);
    await hold.first;
    // Reading all tasks of the large job takes longer than the end of the first turn.
    const repeated = worker.complete(task);
    const cancelled = cluster.cancel(large.id);
    await tick();
    await tick();
    hold.release();
    assert.deepEqual(await completed, { ok: true });
    assert.deepEqual(await repeated, { ok: true });
    await cancelled;
  });

  test('see nothing of that turn when it cannot be written', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 1 });
    const hold = holdCommits(cluster, 'beforeCommit');
    const lost = cluster.submit();
    await hold.first;
    const leased = worker.lease(1, 30);
    await taken();
    hold.fail('SQLITE_FULL');
    await assert.rejects(lost, { code: 'store_unavailable' });
    await cluster.clock.advance(2);
    const { id } = await cluster.submit();
    const [task] = await leased;
    assert.ok(task, 'the slot is free');
    assert.equal((await cluster.onlyTask(id)).id, task.task_id);
    const events = await cluster.seen.events({ after_id: 0, limit: 100 });
    assert.deepEqual(
      events.map((event) => event.id),
      events.map((_, i) => i + 1),
    );
    assert.deepEqual(
      events.map((event) => event.type),
      ['worker_registered', 'job_submitted', 'task_leased', 'job_running'],
    );
  });

  test('a request for work whose client went away gets no task after its grant could not be written', async (t) => {
    const cluster = await TestCluster.start(t);
    const [gone, next] = [await cluster.register(), await cluster.register()];
    const client = new AbortController();
    gone.lease(1, 60, client.signal).catch(() => {});
    await taken();
    const hold = holdCommits(cluster, 'beforeCommit');
    const refused = assert.rejects(cluster.submit(), { code: 'store_unavailable' });
    await hold.first;
    client.abort();
    hold.fail('SQLITE_FULL');
    await refused;
    const submitted = await cluster.submit();
    assert.equal((await cluster.onlyTask(submitted.id)).status, 'queued');
    assert.equal((await next.lease()).length, 1);
  });

  test('may hold one that fails, which harms neither that turn nor the others', async (t) => {
    const cluster = await TestCluster.start(t);
    const hold = holdCommits(cluster, 'beforeCommit');
    const first = cluster.submit();
    await hold.first;
    const broken = cluster.port.send({ type: 'submit_job', principal: cluster.principal } as never);
    const sound = cluster.submit(job({ name: 'sound' }));
    await taken();
    hold.release();
    await assert.rejects(broken, { code: 'internal' });
    assert.equal((await cluster.job((await first).id)).status, 'queued');
    assert.equal((await cluster.job((await sound).id)).name, 'sound');
    assert.deepEqual(await cluster.eventTypes(), ['job_submitted', 'job_submitted']);
  });
});

test('the first period of a lease counts from when it is handed out, however long that took to become durable', async (t) => {
  const { cluster, id, worker } = await withJob(t, undefined, { leaseTtl: 60, workerDeadAfter: 600 });
  const hold = holdCommits(cluster, 'beforeCommit');
  const leased = worker.lease(1, 10);
  await hold.first;
  await cluster.clock.advance(40);
  hold.release();
  assert.equal((await leased).length, 1);
  await cluster.clock.advance(50);
  await cluster.submit();
  assert.equal((await cluster.onlyTask(id)).status, 'leased');
  await cluster.clock.advance(11);
  await cluster.submit();
  assert.equal((await cluster.onlyTask(id)).status, 'queued');
});

describe('a deadline that comes due while a turn is being written', () => {
  /** A task that may be tried twice, running on the only worker. */
  const atWork = async (t: TestContext) => {
    const { cluster, id, worker } = await withJob(t, job({ retry: { max_attempts: 2 } }), {
      leaseTtl: 60,
      workerDeadAfter: 600,
    });
    return { cluster, id, worker, task: await worker.run() };
  };

  /** Another worker waits, the lease ends in a second, and the next commit is held up. */
  const shortBefore = async (cluster: TestCluster) => {
    const other = await cluster.register();
    const waiting = other.lease(1, 1000);
    await cluster.clock.advance(59);
    return { other, waiting, hold: holdCommits(cluster, 'beforeCommit') };
  };

  test('concerns the earlier lease, not the one that the turn grants', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    const { other, waiting, hold } = await shortBefore(cluster);
    const failed = worker.fail(task);
    await hold.first;
    await cluster.clock.advance(2);
    await taken();
    hold.release();
    assert.deepEqual(await failed, { ok: true, requeued: true });
    const [again] = await waiting;
    assert.deepEqual(await other.start(again as LeasedTask), { ok: true });
    assert.ok(!(await cluster.eventTypes(id)).includes('task_lost'), 'the new lease did not expire');
  });

  test('concerns the earlier lease also when a report on it is not handled yet', async (t) => {
    const { cluster, worker, task } = await atWork(t);
    const { other, waiting, hold } = await shortBefore(cluster);
    const unmet = cluster.submit(job({ requirements: { labels: { site: 'elsewhere' } } }));
    await hold.first;
    const failed = worker.fail(task);
    await taken();
    await cluster.clock.advance(2);
    await taken();
    hold.release();
    await Promise.all([unmet, failed]);
    const [again] = await waiting;
    assert.deepEqual(await other.start(again as LeasedTask), { ok: true });
    // The new lease has a deadline of its own.
    await cluster.clock.advance(61);
    assert.deepEqual((await other.heartbeat([again as LeasedTask])).cancel_task_ids, [again?.task_id]);
  });

  test('takes no task that the turn grants from a worker whose slots looked taken for a whole TTL', async (t) => {
    const { cluster, worker, task } = await atWork(t);
    const waiting = worker.lease(1, 100);
    await taken();
    await cluster.clock.advance(30);
    await worker.heartbeat();
    await cluster.clock.advance(29);
    const hold = holdCommits(cluster, 'beforeCommit');
    const failed = worker.fail(task);
    await hold.first;
    await cluster.clock.advance(2);
    await taken();
    hold.release();
    await failed;
    const [again] = await waiting;
    assert.deepEqual(await worker.start(again as LeasedTask), { ok: true });
  });

  test('a worker that sends a heartbeat while its death is being written is watched from then on', async (t) => {
    const { cluster, worker } = await withWorker(t, undefined, { workerDeadAfter: 45 });
    const hold = holdCommits(cluster, 'beforeCommit');
    await cluster.clock.advance(46);
    await hold.first;
    const heard = worker.heartbeat();
    await taken();
    hold.release();
    await heard;
    const status = async () => (await cluster.seen.workers())[0]?.status;
    assert.equal(await status(), 'alive');
    await cluster.clock.advance(46);
    await cluster.submit();
    assert.equal(await status(), 'dead');
    const deaths = (await cluster.eventTypes()).filter((type) => type === 'worker_dead');
    assert.equal(deaths.length, 2);
  });
});

test('a lease that heartbeats renewed is written with the next commit, as it is then', async (t) => {
  const { cluster, worker, task } = await atWork(t, undefined, { leaseTtl: 60 });
  await cluster.clock.advance(20);
  await worker.heartbeat();
  await cluster.submit();
  const store = await openStore(cluster.stateDir, storeOf(cluster.stateDir));
  const [row] = await store.load(TASKS, 'id = ?', task.task_id);
  await store.close();
  assert.equal(row?.lease_expires_at, cluster.clock.now() + 60);
});
