import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventOf, foreigner, foreignTask, JOB, type Json } from './foreign.ts';

const typesOf = (events: Json): string[] => events.map(({ type }: Json) => type);

describe('a client that follows the events of a job', () => {
  it('finds the metrics in the event of a completed task, and the aggregate in the event of the end of the job', async (t) => {
    const { client, job, worker, task } = await foreignTask(t);
    const metrics = { best_rmse: 0.25, best_r2: 0.75, custom: null };
    await client.complete(task, worker, { metrics: { ...metrics, words: 'many' } });
    const events = await client.events(job);
    assert.deepEqual(eventOf(events, 'task_completed').data.metrics, metrics);
    const { aggregate } = await client.get(`GET /v1/jobs/${job.id}`);
    const { ranking: _, errors: __, ...numbers } = aggregate;
    assert.deepEqual(eventOf(events, 'job_succeeded').data.aggregate, numbers);
    assert.equal(numbers.best_metric, 0.25);
  });

  it('finds the aggregate also where the job failed or was cancelled', async (t) => {
    const client = await foreigner(t);
    const worker = await client.register();
    const failed = await client.submit({ retry: { max_attempts: 1 } });
    const task = await client.take(worker);
    await client.get(`POST /v1/tasks/${task.task_id}/fail?worker_id=${worker}`, { error: 'e' });
    const cancelled = await client.submit();
    await client.get(`POST /v1/jobs/${cancelled.id}/cancel`);
    for (const [job, type] of [
      [failed, 'job_failed'],
      [cancelled, 'job_cancelled'],
    ] as const) {
      const { aggregate } = await client.get(`GET /v1/jobs/${job.id}`);
      const { ranking: _, errors: __, ...numbers } = aggregate;
      assert.deepEqual(eventOf(await client.events(job), type).data.aggregate, numbers);
    }
  });

  it('finds an empty object of metrics where none was reported', async (t) => {
    const client = await foreigner(t);
    const job = await client.submit();
    const worker = await client.register();
    await client.complete(await client.take(worker), worker);
    const events = await client.events(job);
    assert.deepEqual(eventOf(events, 'task_completed').data.metrics, {});
    assert.deepEqual(typesOf(events), [
      'job_submitted',
      'task_leased',
      'job_running',
      'task_started',
      'task_completed',
      'job_succeeded',
    ]);
  });
});

describe('the artifacts of a task', () => {
  it('are listed in the order of tasks, and last the best model once more, as one of the job', async (t) => {
    const client = await foreigner(t);
    const datasets = [JOB.dataset, { ...JOB.dataset, path: '/data/oil' }];
    const job = await client.submit({ dataset: null, datasets });
    const worker = await client.register();
    const models: string[] = [];
    for (const best_rmse of [0.5, 0.1]) {
      const task = await client.take(worker);
      const path = `/v1/tasks/${task.task_id}/artifacts?worker_id=${worker}`;
      const logs = await client.upload(`${path}&role=logs&kind=logs`, 'log', 'task.log');
      const model = await client.upload(
        `${path}&role=model&kind=any-word`,
        `model ${best_rmse}`,
        'best_model.n4a',
      );
      await client.upload(path, 'more');
      models.push(model.artifact_id);
      const artifacts = { model: model.artifact_id, logs: logs.artifact_id, workspace: null };
      await client.complete(task, worker, { metrics: { best_rmse }, artifacts });
    }
    const listed = await client.get(`GET /v1/jobs/${job.id}/artifacts`);
    const [one, two] = (await client.get(`GET /v1/jobs/${job.id}/tasks`)).map(({ id }: Json) => id);
    assert.deepEqual(
      listed.map(({ role, task_id, kind }: Json) => [role, task_id, kind]),
      [
        ...[one, two].flatMap((task) => [
          ['logs', task, 'logs'],
          ['model', task, 'any-word'],
          ['output', task, 'blob'],
        ]),
        ['best_model', null, 'any-word'],
      ],
    );
    assert.equal(listed.at(-1).id, models[1]);
    assert.equal(listed.at(-1).filename, 'best_model.n4a');
    const { text, headers } = await client.ask(`GET /v1/artifacts/${models[1]}`);
    assert.equal(text, 'model 0.1');
    assert.equal(headers.get('etag'), `"${listed.at(-1).sha256}"`);
  });

  it('are named by its result only where it has uploaded them itself', async (t) => {
    const client = await foreigner(t);
    const input = await client.upload('/v1/artifacts', 'an input');
    await client.submit();
    await client.submit();
    const worker = await client.register({ slots_total: 2 });
    const [mine, other] = [await client.take(worker), await client.take(worker)];
    const foreign = await client.upload(`/v1/tasks/${other.task_id}/artifacts?role=model`, 'of another task');
    const own = await client.upload(`/v1/tasks/${mine.task_id}/artifacts?role=model`, 'of this task');
    const complete = `POST /v1/tasks/${mine.task_id}/complete?worker_id=${worker}`;
    for (const id of [input.artifact_id, foreign.artifact_id, 'art_0']) {
      const { status, json } = await client.ask(complete, {
        artifacts: { model: own.artifact_id, logs: id },
      });
      assert.deepEqual([status, json.code, json.errors[0].path], [422, 'invalid_body', '/artifacts/logs']);
    }
    assert.deepEqual(await client.get(complete, { artifacts: { model: own.artifact_id } }), { ok: true });
  });
});
