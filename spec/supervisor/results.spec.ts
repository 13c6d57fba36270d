import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { digestEvent } from '../../machines/report/digest.ts';
import { atWork, job, TestCluster, withJob } from '../support/cluster.ts';

describe('results', () => {
  test('a result of another pipeline than the client pinned is accepted, and the difference is noted', async (t) => {
    const cluster = await TestCluster.start(t);
    const expected_fingerprint = `sha256:${'0'.repeat(64)}`;
    const submitted = await cluster.submit(
      job({ pipeline: { kind: 'inline_json', inline: {}, expected_fingerprint } }),
    );
    const worker = await cluster.register();
    await worker.complete(await worker.run(), { pipeline_fingerprint: 'sha256:other' });
    assert.equal((await cluster.job(submitted.id)).status, 'succeeded');
    const events = await cluster.seen.events({ job_id: submitted.id, after_id: 0, limit: 100 });
    const noted = events.find((event) => event.type === 'pipeline_fingerprint_mismatch');
    assert.deepEqual(noted?.data, { expected: expected_fingerprint, reported: 'sha256:other' });
  });

  test('progress is kept as data.progress and moves no state', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    await cluster.port.send({
      type: 'report_events',
      principal: cluster.principal,
      task_id: task.task_id,
      worker_id: worker.id,
      events: [digestEvent({ type: 'progress', progress: 0.5, data: { fold: 3 } })],
    });
    const events = await cluster.seen.events({ job_id: id, after_id: 0, limit: 100 });
    assert.deepEqual(events.at(-1)?.data, { fold: 3, progress: 0.5 });
    assert.equal((await cluster.onlyTask(id)).status, 'running');
  });
});

describe('a report beyond the limits', () => {
  test('is accepted and cut, and an event says what was cut', async (t) => {
    const { cluster, id, worker } = await withJob(t);
    const metrics = { best_rmse: '0.5', best_r2: 0.9 } as never;
    await worker.complete(await worker.run(), { metrics, extra: { spectra: 'x'.repeat(2e6) } });
    const { result } = await cluster.onlyTask(id);
    assert.deepEqual(
      [result?.metrics, result?.extra],
      [
        { best_r2: 0.9 },
        { metrics: { best_rmse: '0.5' }, left_out: '1 member(s) of 2000013 bytes: spectra' },
      ],
    );
    const events = await cluster.seen.events({ job_id: id, after_id: 0, limit: 100 });
    const told = events.find(({ type }) => type === 'result_cut');
    assert.match(told?.message ?? '', /1 of metrics moved to extra\.metrics.*best_rmse.*spectra/);
    assert.equal(told?.level, 'warning');
  });
});

describe('artifacts of tasks', () => {
  const upload = (cluster: TestCluster, task_id: string, role: string, sha: string, attempt?: number) =>
    cluster.port.send({
      type: 'record_artifact',
      principal: cluster.principal,
      sha256: sha.repeat(64),
      size_bytes: 3,
      kind: 'blob',
      filename: `${role}.bin`,
      task: { task_id, role, ...(attempt === undefined ? {} : { attempt }) },
    });

  test('a job lists what the last attempt uploaded, and in named roles exactly what the result names', async (t) => {
    const { cluster, id, worker } = await withJob(t);
    const first = await worker.run();
    await upload(cluster, first.task_id, 'logs', '1');
    await worker.fail(first);
    const second = await worker.run();
    const model = await upload(cluster, second.task_id, 'model', '2');
    await upload(cluster, second.task_id, 'model', '3');
    const extra = await upload(cluster, second.task_id, 'plot', '4');
    await worker.complete(second, {
      artifacts: { model: model.artifact_id, logs: null },
      metrics: { best_rmse: 1 },
    });
    await assert.rejects(upload(cluster, second.task_id, 'model', '5', 1), { code: 'stale_attempt' });
    const listed = await cluster.seen.jobArtifacts(id);
    assert.deepEqual(
      listed.map((entry) => [entry.role, entry.task_id, entry.id]).sort(),
      [
        ['best_model', null, model.artifact_id],
        ['model', second.task_id, model.artifact_id],
        ['plot', second.task_id, extra.artifact_id],
      ].sort(),
    );
    const [own] = await cluster.tasks(id);
    const of = (task_id: string) => cluster.seen.artifactsOf(id, task_id);
    assert.deepEqual(
      (await of(own?.id as string)).map(({ role, id }) => [role, id]),
      [
        ['model', model.artifact_id],
        ['plot', extra.artifact_id],
      ],
    );
    await assert.rejects(of('task_none'), { code: 'unknown_id' });
    const other = await cluster.submit();
    const [task_of_other] = await cluster.tasks(other.id);
    await assert.rejects(of(task_of_other?.id as string), { code: 'unknown_id' });
  });
});
