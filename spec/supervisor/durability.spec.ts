import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atWork, job, TestCluster, withJob, withWorker } from '../support/cluster.ts';
import { holdCommits } from '../support/hold-commits.ts';
import { until } from '../support/until.ts';

describe('a store that cannot commit', () => {
  test('refuses writes with 503 and leaves nothing of them', async (t) => {
    const cluster = await TestCluster.start(t);
    const kept = await cluster.submit(job({ name: 'kept' }));
    cluster.fillDisk();
    await assert.rejects(cluster.submit(job({ name: 'refused' })), { code: 'store_unavailable' });
    await assert.rejects(cluster.cancel(kept.id), { code: 'store_unavailable' });
    await assert.rejects(cluster.register(), { code: 'store_unavailable' });
    assert.equal(cluster.state, 'degraded');
    const jobs = await cluster.seen.jobs({ limit: 10 });
    assert.deepEqual(
      jobs.map((view) => [view.name, view.status]),
      [['kept', 'queued']],
    );
    assert.deepEqual(await cluster.seen.workers(), []);
  });

  test('serves again as soon as a commit works, without a restart and without a gap in the events', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.submit();
    cluster.fillDisk();
    await assert.rejects(cluster.submit());
    cluster.freeDisk();
    const submitted = await cluster.submit();
    assert.equal(cluster.state, 'serving');
    const worker = await cluster.register({ slots_total: 2 });
    assert.equal((await worker.lease(2)).length, 2);
    assert.equal((await cluster.job(submitted.id)).status, 'running');
    const ids = (await cluster.seen.events({ after_id: 0, limit: 100 })).map((event) => event.id);
    assert.deepEqual(
      ids,
      ids.map((_, i) => i + 1),
    );
  });

  test('hands out no lease, and gives the task to the same waiting worker once it works again', async (t) => {
    const { cluster, worker } = await withJob(t);
    cluster.fillDisk();
    await assert.rejects(worker.lease(1, 20), { code: 'store_unavailable' });
    const waiting = worker.lease(1, 20);
    await cluster.servesAgain();
    assert.deepEqual(
      (await waiting).map((task) => task.attempt),
      [1],
    );
  });

  test('leads to one lease a task, although a failure that puts the task back was tried before', async (t) => {
    const { cluster, id, worker, task } = await atWork(t, job({ retry: { max_attempts: 2 } }));
    const [one, two] = [await cluster.register(), await cluster.register()];
    const waiting = [one.lease(1, 20), two.lease(1, 20)];
    // Behind them in the mailbox.
    await worker.heartbeat();
    cluster.fillDisk();
    const report = worker.fail(task);
    await until('the store fails', () => cluster.state === 'degraded');
    await cluster.servesAgain();
    assert.deepEqual(await report, { ok: true, requeued: true });
    await cluster.clock.advance(20);
    const leased = await Promise.all(waiting);
    assert.deepEqual(leased.map((tasks) => tasks.length).sort(), [0, 1]);
    const view = await cluster.onlyTask(id);
    assert.equal(view.worker_id, leased[0]?.length === 1 ? one.id : two.id);
  });

  test('does not stop heartbeats: they renew leases and keep the worker alive', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    cluster.fillDisk();
    await assert.rejects(cluster.submit());
    for (let i = 0; i < 10; i++) {
      await cluster.clock.advance(30);
      assert.deepEqual(await worker.heartbeat([{ task_id: task.task_id, attempt: 1 }]), {
        ok: true,
        cancel_task_ids: [],
      });
    }
    cluster.freeDisk();
    await cluster.submit();
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    assert.equal((await cluster.eventTypes()).includes('worker_dead'), false);
    const [view] = await cluster.seen.workers();
    assert.equal(view?.last_seen_at, cluster.clock.now());
  });

  test('lets a success and a failure wait, and records them when it works again', async (t) => {
    const cluster = await TestCluster.start(t);
    const [one, two] = [await cluster.submit(), await cluster.submit()];
    const worker = await cluster.register({ slots_total: 2 });
    const [first, second] = [await worker.run(), await worker.run()];
    cluster.fillDisk();
    const reports = [worker.complete(first), worker.fail(second, { retriable: false })];
    await until('the store fails', () => cluster.state === 'degraded');
    cluster.freeDisk();
    await cluster.clock.advance(2);
    assert.deepEqual(await Promise.all(reports), [{ ok: true }, { ok: true, requeued: false }]);
    assert.equal((await cluster.job(one.id)).status, 'succeeded');
    assert.equal((await cluster.job(two.id)).status, 'failed');
  });

  test('lets a lease that never reached its worker go back once it works again, at no cost of an attempt', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit();
    const [gone, next] = [await cluster.register(), await cluster.register()];
    const task = await gone.leaseOne();
    cluster.fillDisk();
    const returned = cluster.port.send({ type: 'lease_undelivered', worker_id: gone.id, tasks: [task] });
    await until('the store fails', () => cluster.state === 'degraded');
    cluster.freeDisk();
    await cluster.clock.advance(2);
    assert.deepEqual(await returned, { ok: true });
    assert.equal((await cluster.onlyTask(submitted.id)).status, 'queued');
    assert.equal((await next.leaseOne()).attempt, 1);
  });

  test('refuses a report that has waited too long, and accepts the same report later', async (t) => {
    const cluster = await TestCluster.start(t, { reportTimeout: 30, leaseTtl: 600, workerDeadAfter: 600 });
    const submitted = await cluster.submit();
    const worker = await cluster.register();
    const task = await worker.run();
    cluster.fillDisk();
    const report = worker.complete(task);
    let answered = false;
    const refused = assert.rejects(report, { code: 'store_unavailable' }).then(() => {
      answered = true;
    });
    await until('the store fails', () => cluster.state === 'degraded');
    await cluster.clock.advance(20);
    assert.equal(answered, false);
    await until('the patience ends', async () => {
      await cluster.clock.advance(1);
      return answered;
    });
    await refused;
    cluster.freeDisk();
    await worker.complete(task);
    assert.equal((await cluster.job(submitted.id)).status, 'succeeded');
  });

  test('does not forget a lease that expired meanwhile', async (t) => {
    const { cluster, id } = await atWork(t, undefined, { leaseTtl: 60 });
    cluster.fillDisk();
    await cluster.clock.advance(61);
    await until('the expiry is tried', () => cluster.state === 'degraded');
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    cluster.freeDisk();
    await until('the expiry is recorded', async () => {
      await cluster.clock.advance(1);
      return (await cluster.onlyTask(id)).status === 'queued';
    });
  });
});

describe('a fault of one message', () => {
  test('does not fail the messages of the same turn', async (t) => {
    const cluster = await TestCluster.start(t);
    let commits = 0;
    // The turn that holds three submissions fails in a way that is not the disk's; alone, only the second does.
    cluster.faults.beforeCommit = async () => {
      commits++;
      if (commits === 1 || commits === 3) throw new Error('one statement cannot be run');
    };
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map((n) => cluster.submit(job({ name: `job ${n}` }))),
    );
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal((outcomes[1] as PromiseRejectedResult).reason.code, 'internal');
    assert.equal(cluster.state, 'serving');
    const names = (await cluster.seen.jobs({ limit: 10 })).map((view) => view.name);
    assert.deepEqual(names, ['job 3', 'job 1']);
  });
});

describe('group commit', () => {
  test('messages that arrive while a commit is under way share the next one', async (t) => {
    const cluster = await TestCluster.start(t);
    const hold = holdCommits(cluster, 'beforeCommit');
    const first = cluster.submit();
    await hold.first;
    const others = Array.from({ length: 50 }, () => cluster.submit());
    let more = 0;
    hold.release();
    cluster.faults.beforeCommit = async () => void more++;
    await Promise.all([first, ...others]);
    assert.deepEqual([hold.begun(), more], [1, 1]);
  });

  test('nobody is answered and nothing is published before the commit', async (t) => {
    const cluster = await TestCluster.start(t);
    const seen: string[] = [];
    cluster.port.events.subscribe((events) => seen.push(...events.map((event) => event.type)));
    const hold = holdCommits(cluster, 'beforeCommit');
    let answered = false;
    const submitted = cluster.submit().then(() => {
      answered = true;
    });
    await hold.first;
    assert.deepEqual([answered, seen], [false, []]);
    hold.release();
    await submitted;
    assert.deepEqual(seen, ['job_submitted']);
  });
});

describe('a restart', () => {
  test('brings back jobs, tasks, workers, the queue and the numbers of events', async (t) => {
    const cluster = await TestCluster.start(t);
    const low = await cluster.submit(job({ name: 'low' }));
    const high = await cluster.submit(job({ name: 'high', priority: 3 }));
    const worker = await cluster.register({ slots_total: 3 });
    const running = await worker.run();
    const before = await cluster.port.reads.stats();
    const events = await cluster.eventTypes();
    await cluster.restart();
    assert.deepEqual(await cluster.port.reads.stats(), before);
    assert.deepEqual(await cluster.eventTypes(), events);
    await worker.complete(running);
    const next = await worker.run();
    await worker.complete(next);
    assert.equal((await cluster.job(high.id)).status, 'succeeded');
    assert.equal((await cluster.job(low.id)).status, 'succeeded');
    const ids = (await cluster.seen.events({ after_id: 0, limit: 100 })).map((event) => event.id);
    assert.deepEqual(
      ids,
      ids.map((_, i) => i + 1),
    );
  });

  test('keeps creation times of jobs strictly increasing, whatever the wall clock does', async (t) => {
    const cluster = await TestCluster.start(t);
    const created: number[] = [];
    for (const jump of [0, 0, -3600, 0, 7200]) {
      cluster.clock.jump(jump);
      created.push((await cluster.submit()).created_at, (await cluster.submit()).created_at);
      await cluster.restart();
    }
    assert.deepEqual(
      created,
      [...new Set(created)].sort((a, b) => a - b),
    );
    // The cursor pages through all of them, neither skipping nor repeating one.
    const paged: number[] = [];
    let cursor: number | undefined;
    for (;;) {
      const query = cursor === undefined ? { limit: 3 } : { limit: 3, created_before: cursor };
      const page = await cluster.seen.jobs(query);
      if (page.length === 0) break;
      paged.push(...page.map((view) => view.created_at));
      cursor = paged.at(-1);
    }
    assert.deepEqual(paged, created.reverse());
  });
});

describe('draining', () => {
  test('commits what is in the mailbox, answers the clients that wait, and accepts nothing new', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const waiting = worker.lease(1, 20);
    await worker.heartbeat();
    const submitted = cluster.submit(job({ requirements: { labels: { nobody: 'x' } } }));
    const stopped = cluster.stop();
    assert.deepEqual(await waiting, []);
    const view = await submitted;
    await stopped;
    await assert.rejects(cluster.submit(), { code: 'draining' });
    await cluster.start();
    assert.equal((await cluster.job(view.id)).status, 'queued');
  });
});
