import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { LeasedTask } from '../../gateway/messages.ts';
import type { TaskView } from '../../machines/schema/views.ts';
import { job, type TestCluster, withWorker } from '../support/cluster.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { until } from '../support/until.ts';
import { cv, datasets, payloadOf, pipelines, selecting } from './selection-support.ts';

const nameOf = (lease: LeasedTask) => (payloadOf(lease).pipeline as { name: string }).name;

/** Leases all that is there and starts it, by the name of its pipeline. */
async function taken(worker: TestWorker): Promise<Map<string, LeasedTask>> {
  const leases = await worker.lease(100);
  for (const lease of leases) await worker.start(lease);
  return new Map(leases.map((lease) => [nameOf(lease), lease]));
}

async function begun(t: TestContext, differs: Record<string, unknown> = {}, count = 3) {
  const { cluster, worker } = await withWorker(t, { slots_total: 20 });
  const { id } = await cluster.submit(selecting(count, differs));
  return { cluster, worker, id };
}

/** So that each of the pipelines has its value; null: it fails. */
async function scored(worker: TestWorker, values: (number | null)[]): Promise<void> {
  const leases = await taken(worker);
  for (const [place, value] of values.entries()) {
    const lease = leases.get(`p${place}`) as LeasedTask;
    if (value === null) await worker.fail(lease, { error: 'it broke', retriable: false });
    else await worker.complete(lease, cv(value));
  }
}

const roles = (tasks: TaskView[]) => tasks.map(({ role, status }) => `${role} ${status}`);

describe('a job that selects', () => {
  test('runs each pipeline without a refit and the best once more with it, whose model is its best', async (t) => {
    const { cluster, worker, id } = await begun(t, { params: { random_state: 1e3, refit: true } });
    const leases = await taken(worker);
    for (const lease of leases.values()) {
      const { params, outputs } = payloadOf(lease);
      assert.deepEqual(params, { random_state: 1000, refit: false });
      assert.equal(outputs.export_best_model, false);
    }
    assert.equal((await cluster.job(id)).phase, 'exploring');
    for (const [name, value] of [
      ['p2', 0.2],
      ['p0', 0.3],
      ['p1', 0.1],
    ] as const)
      await worker.complete(leases.get(name) as LeasedTask, cv(value, value === 0.1 ? 9 : 0.1));
    const before = await cluster.job(id);
    assert.deepEqual([before.status, before.phase, before.aggregate.num_tasks], ['running', 'refitting', 4]);
    const refit = await worker.leaseOne();
    const { params, outputs } = payloadOf(refit);
    assert.deepEqual([nameOf(refit), params], ['p1', { random_state: 1000, refit: true }]);
    assert.equal(outputs.export_best_model, true);
    await worker.start(refit);
    await worker.complete(refit, { metrics: { cv_rmse: 0.1, best_rmse: 9 } });
    const { status, aggregate } = await cluster.job(id);
    const variant = leases.get('p1') as LeasedTask;
    assert.deepEqual(
      [status, aggregate.rank_metric, aggregate.best_metric, aggregate.best_task_id],
      ['succeeded', 'cv_rmse', 0.1, refit.task_id],
    );
    assert.deepEqual(
      aggregate.ranking.map(({ pipeline, task_id }) => [pipeline, task_id === variant.task_id]),
      [
        ['p1', true],
        ['p2', false],
        ['p0', false],
      ],
    );
    assert.deepEqual(aggregate.selections, [
      {
        ...{ dataset: '/data/x', num_left: 0, task_id: variant.task_id, metric: 'cv_rmse', value: 0.1 },
        ...{ refit: 'succeeded', refit_task_id: refit.task_id, error: null },
      },
    ]);
    assert.deepEqual(roles(await cluster.tasks(id)), [
      ...Array(3).fill('variant succeeded'),
      'refit succeeded',
    ]);
    const events = await cluster.seen.events({ job_id: id, after_id: 0, limit: 100 });
    const told = events.find(({ type }) => type === 'variant_selected');
    assert.deepEqual(told?.data, {
      ...{ dataset: '/data/x', task_id: variant.task_id, pipeline: 1, metric: 'cv_rmse', mode: 'min' },
      ...{ value: 0.1, refit: true, refit_task_id: null, phase: 'refitting' },
    });
  });

  test('gives the refit to a worker that waits in the turn in which the last variant ends', async (t) => {
    const { worker } = await begun(t, {}, 1);
    const lease = (await taken(worker)).get('p0');
    const waiting = worker.lease(1, 20);
    await worker.complete(lease as LeasedTask, cv(1));
    const [refit] = await waiting;
    assert.equal(refit && (payloadOf(refit).params as { refit: boolean }).refit, true);
  });

  test('queues its refit at its own place, before jobs that were submitted meanwhile', async (t) => {
    const { cluster, worker, id } = await begun(t);
    const leases = await taken(worker);
    await cluster.submit(job());
    for (const lease of leases.values()) await worker.complete(lease, cv(1));
    assert.equal((await worker.leaseOne()).payload.text.includes(id), true);
    await cluster.restart();
    const again = await cluster.register({ slots_total: 20 });
    // The numbers that were kept for it are nobody else's after a restart.
    await cluster.submit(job());
    assert.equal((await again.lease(10)).length, 2);
  });

  test('is refitted although the server went down right after the last variant ended', async (t) => {
    const { cluster, worker, id } = await begun(t);
    await scored(worker, [0.3, 0.1, 0.2]);
    await cluster.restart();
    assert.deepEqual([(await cluster.job(id)).phase, (await cluster.tasks(id)).length], ['refitting', 4]);
    const again = await cluster.register();
    const refit = await again.run();
    assert.equal(nameOf(refit), 'p1');
    await again.complete(refit, cv(0.1));
    assert.equal((await cluster.job(id)).status, 'succeeded');
  });

  test('has neither the end of the last variant nor the refit where the commit of both fails', async (t) => {
    const { cluster, worker, id } = await begun(t, {}, 1);
    const lease = (await taken(worker)).get('p0');
    cluster.fillDisk();
    const report = worker.complete(lease as LeasedTask, cv(1));
    await until('the store to fail', () => cluster.state === 'degraded');
    const { aggregate, status } = await cluster.job(id);
    assert.deepEqual([status, aggregate.num_running, aggregate.num_tasks], ['running', 1, 1]);
    cluster.freeDisk();
    await cluster.submit(job());
    await report;
    assert.equal((await cluster.job(id)).aggregate.num_tasks, 2);
  });

  test('goes on with the variants that succeeded, and where none can be compared names what they reported', async (t) => {
    const some = await begun(t);
    await scored(some.worker, [null, 0.5, null]);
    assert.equal(nameOf(await some.worker.leaseOne()), 'p1');
    const odd = await begun(t, { select: { by: 'q2' } });
    await scored(odd.worker, [1, 2, 3]);
    const { status, error, warnings } = await odd.cluster.job(odd.id);
    assert.deepEqual(
      [status, error],
      ['failed', "none of the variants reported a number for 'q2', by which the best is selected"],
    );
    assert.match(warnings.join(), /metrics that were reported: 'cv_rmse', 'best_rmse'/);
  });

  test('selects on each dataset by itself, as soon as its variants have ended', async (t) => {
    const { pipeline: _, dataset: __, ...others } = job();
    const { cluster, worker } = await withWorker(t, { slots_total: 20 });
    const both = { ...others, pipelines: pipelines(2), datasets: datasets('corn', 'wheat'), select: {} };
    const { id } = await cluster.submit(both);
    const leases = await worker.lease(10);
    const on = (lease: LeasedTask) => (payloadOf(lease).dataset as { name: string }).name;
    for (const lease of leases) await worker.start(lease);
    const of = (dataset: string) => leases.filter((lease) => on(lease) === dataset);
    for (const [place, lease] of of('corn').entries()) await worker.complete(lease, cv(place));
    const first = await worker.run();
    assert.deepEqual([on(first), nameOf(first)], ['corn', 'p0']);
    assert.equal((await cluster.job(id)).phase, 'exploring');
    await worker.complete(first, cv(0));
    for (const [place, lease] of of('wheat').entries()) await worker.complete(lease, cv(-place));
    const second = await worker.run();
    assert.deepEqual([on(second), nameOf(second)], ['wheat', 'p1']);
    await worker.complete(second, cv(-1));
    const { status, aggregate } = await cluster.job(id);
    assert.equal(status, 'succeeded');
    assert.deepEqual(
      aggregate.selections?.map(({ dataset, value, refit }) => [dataset, value, refit]),
      [
        ['corn', 0, 'succeeded'],
        ['wheat', -1, 'succeeded'],
      ],
    );
    assert.equal(aggregate.best_task_id, second.task_id);
  });

  test('can be cancelled while it refits, and nothing follows', async (t) => {
    const { cluster, worker, id } = await begun(t);
    await scored(worker, [1, 2, 3]);
    await cluster.cancel(id);
    assert.equal((await cluster.job(id)).status, 'cancelled');
    assert.deepEqual(await worker.lease(), []);
  });

  test('is not refitted where it is cancelled in the same turn in which its last variant ends', async (t) => {
    const { cluster, worker, id } = await begun(t, {}, 1);
    const lease = (await taken(worker)).get('p0');
    await Promise.all([worker.complete(lease as LeasedTask, cv(1)), cluster.cancel(id)]);
    const { status, aggregate } = await cluster.job(id);
    const left = await worker.lease();
    assert.deepEqual([status, left, aggregate.num_succeeded], ['cancelled', [], 1]);
  });

  test('whose refit failed is retried with the refit alone', async (t) => {
    const { cluster, worker, id } = await begun(t);
    await scored(worker, [1, 2, 3]);
    await worker.fail(await worker.run(), { error: 'no refit', retriable: false });
    assert.deepEqual([(await cluster.job(id)).status, (await cluster.job(id)).error], ['failed', 'no refit']);
    await cluster.retry(id);
    const refit = await worker.run();
    assert.equal((await cluster.job(id)).phase, 'refitting');
    await worker.complete(refit, cv(1));
    const { status, aggregate } = await cluster.job(id);
    assert.deepEqual([status, aggregate.num_tasks, aggregate.best_task_id], ['succeeded', 4, refit.task_id]);
  });

  test('selects anew where a failed variant is retried after the refit, and refits only if another variant wins', async (t) => {
    for (const [value, more] of [
      [9, 0],
      [0, 1],
    ] as const) {
      const { cluster, worker, id } = await begun(t);
      await scored(worker, [1, null, 3]);
      await worker.complete(await worker.run(), cv(1));
      assert.equal((await cluster.job(id)).status, 'succeeded');
      await cluster.retry(id);
      await worker.complete(await worker.run(), cv(value));
      const refits = await worker.lease(10);
      assert.equal(refits.length, more);
      for (const refit of refits) {
        assert.equal(nameOf(refit), 'p1');
        await worker.start(refit);
        await worker.complete(refit, cv(value));
      }
      const { status, aggregate } = await cluster.job(id);
      assert.deepEqual([status, aggregate.num_tasks, aggregate.num_failed], ['succeeded', 4 + more, 0]);
      if (more) assert.equal(aggregate.best_task_id, refits[0]?.task_id);
    }
  });

  test('with an idempotency key is the same job only if its selection is the same', async (t) => {
    const { cluster } = await begun(t);
    const keyed = (select: object) => selecting(2, { idempotency_key: 'k', select });
    const { id } = await cluster.submit(keyed({}));
    assert.equal((await cluster.submit(keyed({ refit: true }))).id, id);
    await assert.rejects(cluster.submit(keyed({ refit: false })), /with another body/);
    await assert.rejects(cluster.submit(keyed({ by: 'r2' })), /with another body/);
  });
});

describe('reuse in a job that selects', () => {
  const known = (count: number, differs: Record<string, unknown> = {}) =>
    selecting(count, {
      dataset: { kind: 'catalog', catalog_id: 'corn@1', sha256: 'a'.repeat(64) },
      reuse: true,
      ...differs,
    });
  const result = (cv_rmse: number) => ({ demo_version: '1.0', ...cv(cv_rmse) });

  async function computed(cluster: TestCluster, worker: TestWorker, count: number) {
    const { id, status, aggregate } = await cluster.submit(known(count));
    if (status === 'succeeded') return { id, aggregate, computed: [] };
    const ran: string[] = [];
    for (let leases = await worker.lease(20); leases.length > 0; leases = await worker.lease(20)) {
      for (const lease of leases) {
        await worker.start(lease);
        const { refit } = payloadOf(lease).params as { refit: boolean };
        ran.push(`${nameOf(lease)}${refit ? ' refit' : ''}`);
        await worker.complete(lease, result(Number(nameOf(lease).slice(1))));
      }
    }
    return { id, aggregate: (await cluster.job(id)).aggregate, computed: ran };
  }

  test('answers variants and refit with the results of equal ones; a sweep that grew computes only what is new', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 20 });
    const first = await computed(cluster, worker, 2);
    assert.deepEqual(first.computed, ['p0', 'p1', 'p0 refit']);
    const again = await computed(cluster, worker, 2);
    assert.deepEqual([again.computed, again.aggregate.num_reused], [[], 3]);
    const grown = await computed(cluster, worker, 4);
    assert.deepEqual([grown.computed, grown.aggregate.num_reused], [['p2', 'p3'], 3]);
  });

  test('does not take a variant and the same pipeline in an ordinary job for equal', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 20 });
    await computed(cluster, worker, 1);
    const { select: _, ...alone } = known(1);
    assert.equal((await cluster.submit(alone)).aggregate.num_reused, 0);
    await worker.complete(await worker.run(), result(0));
    assert.equal((await cluster.submit(alone)).aggregate.num_reused, 1);
  });
});
