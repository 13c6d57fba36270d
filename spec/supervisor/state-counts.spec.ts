import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job, TestCluster } from '../support/cluster.ts';

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
  const counts = (machine: 'job' | 'task' | 'worker' | 'supervisor' | 'agent') => {
    const all = Object.entries(cluster.port.reads.stateCounts(machine));
    return Object.fromEntries(all.filter(([, n]) => n > 0));
  };
  assert.deepEqual(counts('job'), {
    'job.queued': 1,
    'job.queued.ready': 1,
    'job.running': 1,
    'job.running.computing': 1,
    'job.cancelling': 1,
    'job.cancelling.stopping': 1,
  });
  assert.deepEqual(counts('task'), {
    'task.queued': 1,
    'task.leased': 1,
    'task.running': 1,
    'task.running.stopping': 1,
  });
  assert.deepEqual(counts('worker'), { 'worker.alive': 2, 'worker.alive.full': 1, 'worker.alive.idle': 1 });
  assert.deepEqual(counts('supervisor'), { 'supervisor.serving': 1 });
  assert.deepEqual(counts('agent'), {});
});
