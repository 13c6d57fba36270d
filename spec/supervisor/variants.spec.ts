import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { withWorker } from '../support/cluster.ts';
import { until } from '../support/until.ts';
import { cv, datasets, payloadOf, selecting } from './selection-support.ts';

describe('a job whose pipeline holds its variants', () => {
  const holding = (differs: Record<string, unknown> = {}): Record<string, unknown> => {
    const { pipelines: _, ...others } = selecting(1, differs);
    return { ...others, pipeline: { kind: 'path', path: '/p/sweep.yaml' }, decompose: 'variants' };
  };
  const list = (...steps: unknown[]) => ({ variants: steps.map((step) => JSON.stringify([step])) });

  async function found(t: TestContext, result: object, differs: Record<string, unknown> = {}) {
    const { cluster, worker } = await withWorker(t, { slots_total: 20 });
    const { id } = await cluster.submit(holding(differs));
    const expansion = await worker.run();
    await worker.complete(expansion, result);
    return { cluster, worker, id, expansion };
  }

  test('has a worker list them: each is a task, labelled by its steps, with its numbers as they are written', async (t) => {
    const { cluster, worker, id, expansion } = await found(t, { variants: ['[ {"a": 1.0} ]', '[{"a":1}]'] });
    assert.deepEqual(payloadOf(expansion).expand, { at_most: 10_000 });
    const { aggregate, phase } = await cluster.job(id);
    assert.deepEqual([phase, aggregate.num_tasks, aggregate.num_queued], ['exploring', 3, 2]);
    const leases = await worker.lease(5);
    assert.deepEqual(
      leases.map(({ payload }) => /"pipeline":(\{.*?\}\]\})/.exec(payload.text)?.[1]),
      ['{"kind":"inline_json","inline":[{"a":1.0}]}', '{"kind":"inline_json","inline":[{"a":1}]}'],
    );
    const tasks = await cluster.tasks(id);
    assert.deepEqual(
      tasks.map(({ role, pipeline_label, pipeline_steps }) => [role, pipeline_label, pipeline_steps]),
      [
        ['expansion', 'sweep', null],
        ['variant', 'sweep', 'a(1)'],
        ['variant', 'sweep', 'a(1)'],
      ],
    );
    for (const [place, lease] of leases.entries()) {
      await worker.start(lease);
      await worker.complete(lease, cv(1 - place));
    }
    const refit = await worker.run();
    assert.match(refit.payload.text, /"inline":\[\{"a":1\}\]/);
    await worker.complete(refit, cv(0));
    const done = await cluster.job(id);
    assert.deepEqual([done.status, done.aggregate.ranking.length], ['succeeded', 2]);
    assert.deepEqual(done.warnings, []);
    assert.ok((await cluster.eventTypes(id)).includes('variants_found'));
  });

  test('goes on with its variants when the server went down before any of them was leased', async (t) => {
    const { cluster, id } = await found(t, list('x', 'y', 'z'));
    await cluster.restart();
    const worker = await cluster.register({ slots_total: 20 });
    const leases = await worker.lease(5);
    assert.deepEqual(
      leases.map((lease) => (payloadOf(lease).pipeline as { inline: unknown }).inline),
      [['x'], ['y'], ['z']],
    );
    assert.equal((await cluster.job(id)).phase, 'exploring');
  });

  test('runs each on every dataset, and equal ones once', async (t) => {
    const { dataset: _, ...others } = holding();
    const { cluster, worker } = await withWorker(t, { slots_total: 20 });
    const { id } = await cluster.submit({ ...others, datasets: datasets('corn', 'wheat') });
    assert.equal((await cluster.tasks(id)).length, 1);
    await worker.complete(await worker.run(), list('x', 'y', 'x'));
    assert.equal((await worker.lease(20)).length, 4);
  });

  for (const [what, result, error] of [
    [
      'more than 10,000 variants',
      list(...Array(10_001).keys()),
      /^the pipeline makes 10001 variants; at most 10000/,
    ],
    ['none', list(), /^the pipeline holds no variants$/],
    [
      'no list of them',
      {},
      /^the worker listed no variants: its runner for demo.run cannot expand pipelines$/,
    ],
    ['what is no JSON', { variants: ['[1]', '[1'] }, /^variant 2 of the pipeline is no JSON text$/],
  ] as const) {
    test(`fails with a sentence where a worker lists ${what}`, async (t) => {
      const { cluster, id } = await found(t, result);
      const { status, error: why, aggregate } = await cluster.job(id);
      assert.deepEqual([status, aggregate.num_tasks], ['failed', 1]);
      assert.match(why ?? '', error);
    });
  }

  test('is retried by listing its variants again', async (t) => {
    const { cluster, worker, id } = await found(t, list());
    await cluster.retry(id);
    await worker.complete(await worker.run(), list('x'));
    assert.equal((await cluster.job(id)).phase, 'exploring');
  });

  test('has no variants where it is cancelled while they are looked for, or in the turn in which they are found', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 20 });
    const { id } = await cluster.submit(holding());
    const expansion = await worker.run();
    await Promise.all([worker.complete(expansion, list('x', 'y')), cluster.cancel(id)]);
    const { status, aggregate } = await cluster.job(id);
    assert.deepEqual([status, aggregate.num_tasks], ['cancelled', 1]);
    assert.deepEqual(await worker.lease(), []);
  });

  test('answers those that were computed before with their results, and computes what is new', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 20 }, { sliceSize: 2 });
    const dataset = { kind: 'catalog', catalog_id: 'corn@1', sha256: 'a'.repeat(64) };
    const ran: number[] = [];
    for (const count of [3, 3, 5]) {
      const { id } = await cluster.submit(holding({ dataset, reuse: true }));
      await worker.complete(await worker.run(), list(...Array(count).keys()));
      let computed = 0;
      await until('the job to end', async () => {
        const leases = await worker.lease(20);
        for (const lease of leases) {
          await worker.start(lease);
          const [step] = (payloadOf(lease).pipeline as { inline: number[] }).inline;
          const result = { demo_version: '1.0', ...cv(step as number) };
          await worker.complete(lease, result);
        }
        computed += leases.length;
        return (await cluster.job(id)).status === 'succeeded';
      });
      ran.push(computed);
    }
    assert.deepEqual(ran, [4, 0, 2]);
  });
});
