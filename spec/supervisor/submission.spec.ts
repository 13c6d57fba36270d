import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { digestJob } from '../../machines/submission/job-digest.ts';
import { job, TestCluster } from '../support/cluster.ts';
import { textOf } from '../support/views.ts';

describe('submitting', () => {
  test('the specification comes back as it was written, numbers and order included', async (t) => {
    const cluster = await TestCluster.start(t);
    const text =
      '{"type":"demo.run","pipeline":{"kind":"inline_json","inline":{"b":1.0,"a":[1e-3,12345678901234567890],"2":0,"1":0}},"dataset":{"kind":"shared_path","path":"/d"},"params":{"z":-0.0,"alpha":1.50}}';
    const { job_id: id } = await cluster.port.send({
      type: 'submit_job',
      principal: cluster.principal,
      job: digestJob(JSON.parse(text), text),
    });
    await cluster.restart();
    assert.equal(await textOf(cluster.port.reads.jobRequest(id)), text);
    const task = await (await cluster.register()).leaseOne();
    assert.ok(task.payload.text.includes('"inline":{"b":1.0,"a":[1e-3,12345678901234567890],"2":0,"1":0}'));
    assert.ok(task.payload.text.includes('"params":{"z":-0.0,"alpha":1.50}'));
  });

  test('an artifact that is not stored is a fault of the job', async (t) => {
    const cluster = await TestCluster.start(t);
    const refs = {
      pipeline: { kind: 'artifact', artifact_id: 'art_a' },
      dataset: { kind: 'artifact', artifact_id: 'art_b' },
    };
    await assert.rejects(cluster.submit(job(refs)), {
      code: 'invalid_body',
      faults: [
        { path: '/pipeline/artifact_id', message: "no artifact with id 'art_a'" },
        { path: '/dataset/artifact_id', message: "no artifact with id 'art_b'" },
      ],
    });
  });
});

describe('idempotency keys', () => {
  test('the same key with the same body gives the same job, also at the same moment and after a restart', async (t) => {
    const cluster = await TestCluster.start(t);
    const document = job({ idempotency_key: 'k' });
    const twins = await Promise.all([cluster.submit(document), cluster.submit(document)]);
    await cluster.restart();
    const later = await cluster.submit(document);
    assert.equal(new Set([...twins, later].map((view) => view.id)).size, 1);
    assert.equal((await cluster.seen.jobs({ limit: 10 })).length, 1);
  });

  test('the same key of another principal is another key', async (t) => {
    const cluster = await TestCluster.start(t);
    const ann = { name: 'ann', rights: ['submit'] as const };
    const bob = { name: 'bob', rights: ['submit'] as const };
    const one = await cluster.submit(job({ idempotency_key: 'k' }), ann);
    const two = await cluster.submit(job({ idempotency_key: 'k' }), bob);
    assert.notEqual(one.id, two.id);
    assert.deepEqual([one.owner, two.owner], ['ann', 'bob']);
  });
});

describe('listing jobs', () => {
  test('the statistics of the last hour are listed minute by minute', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.submit();
    await cluster.submit();
    const worker = await cluster.register();
    await worker.complete(await worker.run());
    await cluster.clock.advance(130);
    await cluster.restart();
    const history = await cluster.port.reads.statsHistory();
    assert.equal(history.length, 60);
    const busy = history.filter((entry) => entry.submitted > 0);
    assert.deepEqual(
      busy.map(({ submitted, started, succeeded, failed }) => ({ submitted, started, succeeded, failed })),
      [{ submitted: 2, started: 1, succeeded: 1, failed: 0 }],
    );
    assert.equal(history.at(-1)?.queued, 1);
  });
});
