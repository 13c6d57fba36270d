import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atWork, job, jobIdOf, TestCluster, withJob, withWorker } from '../support/cluster.ts';
import { until } from '../support/until.ts';

const labelsOf = async (cluster: TestCluster, ids: string[]) => {
  const names = await Promise.all(ids.map((id) => cluster.job(id)));
  return names.map((view) => view.name);
};

describe('which task a lease gets', () => {
  test('tasks are served first in, first out within priority, larger priorities first', async (t) => {
    const cluster = await TestCluster.start(t);
    for (const [name, priority] of [
      ['a', 0],
      ['b', 5],
      ['c', 0],
      ['d', 5],
      ['e', -1],
    ] as const) {
      await cluster.submit(job({ name, priority }));
    }
    const worker = await cluster.register({ slots_total: 5 });
    const leased = await worker.lease(5);
    const jobs = leased.map(jobIdOf);
    assert.deepEqual(await labelsOf(cluster, jobs), ['b', 'd', 'a', 'c', 'e']);
  });

  test('a worker gets only what its labels, memory, gpus and packages satisfy', async (t) => {
    const cluster = await TestCluster.start(t);
    const asks = [
      { labels: { site: 'a' } },
      { min_memory_gb: 64 },
      { min_gpu_count: 1 },
      { packages: { demo: '>=2' } },
    ];
    for (const requirements of asks) await cluster.submit(job({ requirements }));
    const fits = await cluster.submit(job({ name: 'fits', requirements: { labels: { site: 'b' } } }));
    const worker = await cluster.register({
      slots_total: 9,
      labels: { site: 'b' },
      capabilities: { memory_gb: 16, gpu_count: 0 },
    });
    const leased = await worker.lease(9);
    assert.deepEqual(leased.map(jobIdOf), [fits.id]);
  });

  test('a task is leased only while a slot is free', async (t) => {
    const cluster = await TestCluster.start(t);
    for (let i = 0; i < 3; i++) await cluster.submit();
    const worker = await cluster.register({ slots_total: 2 });
    const [first] = await worker.lease(5);
    assert.equal((await cluster.port.reads.stats()).tasks_in_flight, 2);
    assert.deepEqual(await worker.lease(5), []);
    assert.ok(first);
    await worker.start(first);
    await worker.complete(first);
    assert.equal((await worker.lease(5)).length, 1);
  });

  test('two workers never get the same task', async (t) => {
    const cluster = await TestCluster.start(t);
    for (let i = 0; i < 20; i++) await cluster.submit();
    const workers = await Promise.all(Array.from({ length: 5 }, () => cluster.register({ slots_total: 4 })));
    const leased = (await Promise.all(workers.map((worker) => worker.lease(4)))).flat();
    assert.equal(new Set(leased.map((task) => task.task_id)).size, 20);
  });
});

describe('waiting for work', () => {
  test('a request that does not wait gets what there is, however many arrive in the same turn', async (t) => {
    const cluster = await TestCluster.start(t);
    // Time that is over is over at once, as with a real clock.
    const turning = setInterval(() => cluster.clock.advance(0), 0);
    t.after(() => clearInterval(turning));
    const workers = await Promise.all(Array.from({ length: 300 }, () => cluster.register()));
    await cluster.submit(
      job({ pipeline: undefined, pipelines: workers.map((_, i) => ({ kind: 'path', path: `${i}.yaml` })) }),
    );
    const leased = await Promise.all(workers.map((worker) => worker.lease()));
    assert.deepEqual(new Set(leased.map((tasks) => tasks.length)), new Set([1]));
  });

  test('a waiting request for work is answered by the submission that it waited for', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const waiting = worker.lease(1, 20);
    const submitted = await cluster.submit();
    const [task] = await waiting;
    assert.equal(task?.attempt, 1);
    assert.equal((await cluster.onlyTask(submitted.id)).status, 'leased');
  });

  test('the longest-waiting worker is served first', async (t) => {
    const cluster = await TestCluster.start(t);
    const [first, second] = [await cluster.register(), await cluster.register()];
    const order: string[] = [];
    const one = first.lease(1, 20).then((tasks) => tasks.length > 0 && order.push('first'));
    const two = second.lease(1, 20).then((tasks) => tasks.length > 0 && order.push('second'));
    await cluster.submit();
    await one;
    assert.deepEqual(order, ['first']);
    await cluster.submit();
    await two;
    assert.deepEqual(order, ['first', 'second']);
  });

  test('a request for work whose wait is over is answered with nothing', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const waiting = worker.lease(1, 20);
    await until('the lease waits', async () => {
      await cluster.clock.advance(21);
      return Promise.race([
        waiting.then(() => true),
        new Promise<false>((resolve) => setImmediate(resolve, false)),
      ]);
    });
    assert.deepEqual(await waiting, []);
  });

  test('a waiting client that goes away gets no task', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const gone = new AbortController();
    void worker.lease(1, 20, gone.signal);
    await worker.heartbeat();
    gone.abort();
    const submitted = await cluster.submit();
    const task = await cluster.onlyTask(submitted.id);
    assert.deepEqual([task.status, task.attempt], ['queued', 0]);
  });

  test('a slot that becomes free answers the request that waited for it', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.submit();
    await cluster.submit();
    const worker = await cluster.register();
    const first = await worker.run();
    const waiting = worker.lease(1, 20);
    await worker.complete(first);
    assert.equal((await waiting).length, 1);
  });
});

describe('the life of a lease', () => {
  test('a task whose lease expires is lost, and queued again while attempts remain', async (t) => {
    const { cluster, id } = await atWork(t, undefined, { leaseTtl: 60 });
    await cluster.clock.advance(61);
    const task = await until('the lease expires', async () => {
      const now = await cluster.onlyTask(id);
      return now.status === 'queued' && now;
    });
    assert.equal(task.attempt, 1);
    const types = await cluster.eventTypes(id);
    assert.deepEqual(types.slice(-2), ['task_lost', 'task_requeued']);
  });

  test('an expired lease is revoked: a worker that does not list its tasks is told to stop the task until it shows that it knows', async (t) => {
    const { cluster, worker } = await withJob(t, job({ retry: { max_attempts: 1 } }), {
      leaseTtl: 60,
      workerDeadAfter: 600,
    });
    const task = await worker.run();
    const told = async () => (await worker.heartbeat()).cancel_task_ids;
    assert.deepEqual(await told(), []);
    await cluster.clock.advance(61);
    assert.deepEqual(await told(), [task.task_id]);
    assert.deepEqual(await told(), [task.task_id], 'its first answer may have been lost');
    await assert.rejects(worker.complete(task), { code: 'not_holder' });
    assert.deepEqual(await told(), []);
  });

  test('an expired lease that its worker was given anew is not revoked any more', async (t) => {
    const { cluster, worker, task } = await atWork(t, undefined, { leaseTtl: 60, workerDeadAfter: 600 });
    await cluster.clock.advance(61);
    assert.equal((await worker.leaseOne()).task_id, task.task_id);
    assert.deepEqual((await worker.heartbeat()).cancel_task_ids, []);
  });

  test('an expired lease is revoked: the heartbeat that its worker waits with is answered at once', async (t) => {
    const { cluster, worker } = await withJob(t, undefined, { leaseTtl: 5, heartbeatInterval: 10 });
    const { task_id } = await worker.run();
    const waiting = worker.heartbeat([{ task_id, attempt: 1 }], 10);
    await cluster.submit();
    await cluster.clock.advance(6);
    assert.deepEqual(await waiting, { ok: true, cancel_task_ids: [task_id] });
  });

  test('a lease that expires on the last attempt fails the task and its job', async (t) => {
    const { cluster, id } = await atWork(t, job({ retry: { max_attempts: 1 } }));
    await cluster.clock.advance(61);
    const view = await until('the job ends', async () => {
      const now = await cluster.job(id);
      return now.status === 'failed' && now;
    });
    assert.match(Object.values(view.aggregate.errors)[0] ?? '', /silent/);
  });

  test('every heartbeat renews the leases: a healthy worker never loses its task', async (t) => {
    const { cluster, id, worker } = await atWork(t);
    for (let i = 0; i < 30; i++) {
      await cluster.clock.advance(40);
      await worker.heartbeat();
    }
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    assert.equal((await cluster.eventTypes(id)).includes('task_lost'), false);
  });

  test('a heartbeat with `active` renews only the leases that it lists; the others expire', async (t) => {
    const cluster = await TestCluster.start(t, { leaseTtl: 60 });
    const [kept, lost] = [await cluster.submit(), await cluster.submit()];
    const worker = await cluster.register({ slots_total: 2 });
    const [first, second] = await worker.lease(2);
    assert.ok(first && second);
    await cluster.clock.advance(40);
    await worker.heartbeat([{ task_id: first.task_id, attempt: 1 }]);
    assert.equal((await cluster.onlyTask(lost.id)).status, 'leased');
    await cluster.clock.advance(30);
    await until(
      'the unlisted lease expires',
      async () => (await cluster.onlyTask(lost.id)).status === 'queued',
    );
    assert.equal((await cluster.onlyTask(kept.id)).status, 'leased');
  });

  test('the lease of an attempt that is not the present one is not renewed', async (t) => {
    const { cluster, id, worker, task } = await atWork(t, undefined, { leaseTtl: 60 });
    await cluster.clock.advance(40);
    await worker.heartbeat([{ task_id: task.task_id, attempt: 7 }]);
    await cluster.clock.advance(30);
    await until('the lease expires', async () => (await cluster.onlyTask(id)).status === 'queued');
  });

  test('the lease of a task that another worker holds is not renewed: who lists it is told to stop it', async (t) => {
    const { cluster, id, task } = await atWork(t, undefined, { leaseTtl: 60 });
    const other = await cluster.register();
    await cluster.clock.advance(40);
    const answer = await other.heartbeat([{ task_id: task.task_id, attempt: 1 }]);
    assert.deepEqual(answer.cancel_task_ids, [task.task_id]);
    await cluster.clock.advance(30);
    await until('the lease expires', async () => (await cluster.onlyTask(id)).status === 'queued');
  });

  test('a task whose lease never reached its worker goes back to its place and costs no attempt', async (t) => {
    const cluster = await TestCluster.start(t);
    const [first] = [await cluster.submit(), await cluster.submit()];
    const worker = await cluster.register();
    const task = await worker.leaseOne();
    await cluster.port.send({ type: 'lease_undelivered', worker_id: worker.id, tasks: [task] });
    const back = await cluster.onlyTask(first.id);
    assert.deepEqual([back.status, back.attempt, back.worker_id], ['queued', 0, null]);
    assert.equal((await worker.leaseOne()).task_id, task.task_id);
  });

  test('a jump of the wall clock loses no lease and no worker', async (t) => {
    const { cluster, id, worker } = await atWork(t);
    for (const jump of [3600, -7200, 315_360_000, -630_720_000]) {
      cluster.clock.jump(jump);
      await cluster.clock.advance(30);
      await worker.heartbeat();
    }
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    assert.equal((await cluster.eventTypes()).includes('worker_dead'), false);
  });

  test('after a restart every lease and every worker gets a full period anew', async (t) => {
    const { cluster, id, worker, task } = await atWork(t, undefined, { leaseTtl: 60, workerDeadAfter: 45 });
    await cluster.clock.advance(44);
    await cluster.restart();
    await cluster.clock.advance(44);
    assert.deepEqual(
      (await cluster.seen.workers()).map((view) => view.status),
      ['alive'],
    );
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    await worker.complete(task);
    assert.equal((await cluster.job(id)).status, 'succeeded');
  });

  test('a full worker that does not list its tasks and asks for more for a whole TTL loses its least recently reported task', async (t) => {
    const cluster = await TestCluster.start(t, { leaseTtl: 60 });
    const [quiet, loud] = [
      await cluster.submit(job({ name: 'quiet' })),
      await cluster.submit(job({ name: 'loud' })),
    ];
    const worker = await cluster.register({ slots_total: 2 });
    const [, second] = await worker.lease(2);
    assert.ok(second);
    await worker.start(second);
    const asked: number[] = [];
    for (let i = 0; i < 4 && asked.at(-1) !== 1; i++) {
      await cluster.clock.advance(20);
      await worker.heartbeat();
      asked.push((await worker.lease(1)).length);
    }
    // The first question starts the period; it ends within the fourth, which gets the task that came free.
    assert.deepEqual(asked, [0, 0, 0, 1]);
    assert.deepEqual((await cluster.eventTypes(quiet.id)).slice(-3), [
      'task_lost',
      'task_requeued',
      'task_leased',
    ]);
    assert.equal((await cluster.onlyTask(loud.id)).status, 'running');
  });

  test('a worker that lists its tasks may ask while full as long as it likes', async (t) => {
    const { cluster, id, worker, task } = await atWork(t, undefined, { leaseTtl: 60 });
    for (let i = 0; i < 8; i++) {
      await cluster.clock.advance(20);
      await worker.heartbeat([{ task_id: task.task_id, attempt: 1 }]);
      await worker.lease(1);
    }
    assert.equal((await cluster.onlyTask(id)).status, 'running');
  });
});
