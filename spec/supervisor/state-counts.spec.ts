import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countsOnAll, describeMachine } from '../../gateway/contract/machine-views.ts';
import { job, TestCluster, withJob } from '../support/cluster.ts';

test('how many actors are in each state is known for every machine that runs in the server', async (t) => {
  const cluster = await TestCluster.start(t);
  const [cancelled] = [
    await cluster.submit(job({ priority: 1 })),
    await cluster.submit(),
    await cluster.submit(),
  ];
  const worker = await cluster.register({ slots_total: 2 });
  await cluster.register({ slots_total: 2, version: {} });
  await worker.run();
  await worker.leaseOne();
  await cluster.cancel(cancelled.id);
  const counts = async (machine: 'job' | 'task' | 'worker' | 'supervisor' | 'agent') => {
    const all = Object.entries(await cluster.port.reads.stateCounts(machine));
    return Object.fromEntries(all.filter(([, n]) => n > 0));
  };
  assert.deepEqual(await counts('job'), {
    'job.queued': 1,
    'job.queued.ready': 1,
    'job.running': 1,
    'job.running.computing': 1,
    'job.cancelling': 1,
    'job.cancelling.stopping': 1,
  });
  assert.deepEqual(await counts('task'), {
    'task.queued': 1,
    'task.leased': 1,
    'task.running': 1,
    'task.running.stopping': 1,
  });
  assert.deepEqual(await counts('worker'), {
    'worker.alive': 2,
    'worker.alive.full': 1,
    'worker.alive.idle': 1,
  });
  assert.deepEqual(await counts('supervisor'), { 'supervisor.serving': 1 });
  assert.deepEqual(await counts('agent'), {});
});

test('a running job is counted below its status too while all its tasks wait again', async (t) => {
  const { cluster, id, worker } = await withJob(t);
  await worker.fail(await worker.run(), { error: 'no luck', retriable: true });
  assert.equal((await cluster.job(id)).status, 'running');
  const running = async () => {
    const counts = await cluster.port.reads.stateCounts('job');
    return [counts['job.running'], counts['job.running.computing']];
  };
  assert.deepEqual(await running(), [1, 1]);
});

test('every state of a chart has a count, none where nobody is in it, and the machine that of all', () => {
  const { chart } = describeMachine('worker');
  const counts = countsOnAll(chart, { 'worker.alive': 3, 'worker.alive.busy': 3, 'worker.dead': 2 });
  assert.deepEqual(Object.keys(counts).sort(), chart.states.map(({ id }) => id).sort());
  assert.deepEqual([counts.worker, counts['worker.alive.busy'], counts['worker.alive.full']], [5, 3, 0]);
  assert.deepEqual(countsOnAll(chart, {}), {});
});
