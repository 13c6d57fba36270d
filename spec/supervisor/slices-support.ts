import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { SupervisorSettings } from '../../actors/server/core.ts';
import type { JobView } from '../../machines/schema/views.ts';
import { TestCluster } from '../support/cluster.ts';
import { deferred } from '../support/deferred.ts';
import { diskFull } from '../support/full-disk.ts';
import { sweep } from '../support/job.ts';

export const MANY = 7;

export const SLICE = 2;

export const many = (differs: Record<string, unknown> = {}) =>
  sweep(MANY, { retry: { max_attempts: 1 }, ...differs });

export const start = (t: TestContext, settings: Partial<SupervisorSettings> = {}) =>
  TestCluster.start(t, { sliceSize: SLICE, ...settings });

/** Holds a commit, after so many that pass; then it is made, or fails. */
export function hold(cluster: TestCluster, passing: number) {
  let left = passing;
  const [reached, released] = [deferred(), deferred<boolean>()];
  cluster.faults.beforeCommit = async () => {
    if (left-- > 0) return;
    delete cluster.faults.beforeCommit;
    reached.resolve();
    if (await released.promise) throw diskFull();
  };
  return { reached: reached.promise, go: () => released.resolve(false), fail: () => released.resolve(true) };
}

export const counts = ({ status, aggregate: a }: JobView) =>
  `${status}: ${a.num_queued} queued, ${a.num_running} running, ${a.num_failed} failed, ${a.num_cancelled} cancelled`;

export const all = (status: string) => Array.from({ length: MANY }, () => status);

/** A job all of whose tasks have failed. */
export async function failed(cluster: TestCluster): Promise<string> {
  const { id } = await cluster.submit(many());
  const worker = await cluster.register({ slots_total: MANY });
  for (const task of await worker.lease(MANY)) await worker.fail(task, { error: 'it broke' });
  assert.equal((await cluster.job(id)).status, 'failed');
  return id;
}
