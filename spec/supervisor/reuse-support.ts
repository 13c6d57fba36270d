import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { LeasedTask } from '../../gateway/messages.ts';
import type { Principal } from '../../machines/protocol/rights.ts';
import { TestCluster } from '../support/cluster.ts';
import type { TestWorker } from '../support/test-worker.ts';

export const SHA = 'a'.repeat(64);

export const DATASET = { kind: 'catalog', catalog_id: 'corn@1', sha256: SHA };

export const inline = (inline: unknown, more: object = {}) => ({ kind: 'inline_json', inline, ...more });

/** A job whose task is known by content; give what differs. */
export const known = (differs: Record<string, unknown> = {}): Record<string, unknown> => ({
  type: 'demo.run',
  pipeline: inline({ steps: ['snv', 1] }),
  dataset: DATASET,
  params: { random_state: 42 },
  ...differs,
});

export const asking = (differs: Record<string, unknown> = {}) => known({ reuse: true, ...differs });

export const principal = (name: string): Principal => ({
  name,
  rights: ['execute', 'read', 'submit', 'cancel'],
});

export const RESULT = {
  demo_version: '1.0',
  metrics: { best_rmse: 0.25, cv_rmse: 0.5 },
  extra: { said: 'so' },
};

export async function complete(worker: TestWorker, lease: LeasedTask, result: object = RESULT) {
  await worker.start(lease);
  await worker.complete(lease, result);
}

/** A cluster with a worker that has computed a job, and what of it the test goes on with. */
export async function computed(
  t: TestContext,
  differs: Record<string, unknown> = {},
  result: object = RESULT,
) {
  const cluster = await TestCluster.start(t);
  const worker = await cluster.register({ slots_total: 4 });
  const job = await cluster.submit(known(differs));
  const lease = await worker.leaseOne();
  await complete(worker, lease, result);
  assert.equal((await cluster.job(job.id)).status, 'succeeded');
  return { cluster, worker, job, task: lease.task_id };
}

/** Whether a job is answered at once with what was computed before. */
export async function isReused(
  cluster: TestCluster,
  document: Record<string, unknown>,
  by = cluster.principal,
) {
  const { id, aggregate } = await cluster.submit(document, by);
  const task = await cluster.onlyTask(id);
  assert.equal(task.status === 'succeeded', task.reused_from != null);
  assert.equal(aggregate.num_reused, task.reused_from ? 1 : 0);
  return task.reused_from != null;
}
