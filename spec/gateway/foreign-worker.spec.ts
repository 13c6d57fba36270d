import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../support/until.ts';
import { eventOf, Foreigner, foreigner, foreignTask, JOB, type Json } from './foreign.ts';

describe('another implementation of a worker, at its registration', () => {
  it('need send nothing, and gets all that it has to know', async (t) => {
    const client = await foreigner(t);
    const answer = await client.get('POST /v1/workers/register');
    assert.deepEqual(Object.keys(answer).sort(), [
      'accepts',
      'heartbeat_interval_s',
      'lease_ttl_s',
      'rights',
      'session',
      'worker_id',
    ]);
    assert.deepEqual([answer.heartbeat_interval_s, answer.lease_ttl_s], [10, 60]);
    const again = await client.get('POST /v1/workers/register', { worker_id: answer.worker_id });
    assert.equal(again.worker_id, answer.worker_id);
    assert.ok(again.session > answer.session);
    const old = { session: answer.session };
    for (const verb of ['heartbeat', 'lease']) {
      assert.deepEqual(await client.refusal(`POST /v1/workers/${again.worker_id}/${verb}`, old), [
        409,
        'superseded',
      ]);
    }
    assert.deepEqual(await client.refusal('POST /v1/workers/worker_0/heartbeat'), [404, 'unknown_id']);
  });

  it('may name its version by a member of its own, and is flagged when it differs', async (t) => {
    const client = await foreigner(t);
    await client.register({ version: { python: '3.11.7', n4c_cluster: '0.3.0', platform: 'linux' } });
    const [worker] = await client.get('GET /v1/workers');
    assert.deepEqual([worker.cluster_version, worker.version_divergent], ['0.3.0', true]);
    assert.deepEqual(Object.keys(worker).sort(), [
      ...['capabilities', 'cluster_version', 'drained', 'id', 'labels', 'last_seen_at', 'leaving', 'name'],
      ...['slots_total', 'slots_used', 'status', 'suspended', 'version', 'version_divergent'],
    ]);
  });
});

describe('another implementation of a worker, with a lease', () => {
  it('gets all members of the payload, those of the job as it has them', async (t) => {
    const client = await foreigner(t, { principals: ['ann:s3cret:submitter', 'lab:t0ken:executor'] });
    const [ann, lab] = [new Foreigner(client.url, 's3cret'), new Foreigner(client.url, 't0ken')];
    const job = await ann.submit({ params: { verbose: 1 } });
    const worker = await lab.register();
    const task = await lab.lease(worker);
    const { task_id, lease_expires_at, ...payload } = task;
    assert.match(task_id, /^task_/);
    assert.ok(lease_expires_at > job.created_at);
    assert.deepEqual(payload, {
      job_id: job.id,
      type: 'demo.run',
      attempt: 1,
      max_attempts: 2,
      pipeline: JOB.pipeline,
      dataset: JOB.dataset,
      params: { verbose: 1 },
      outputs: { export_best_model: true, keep_task_workspace: false },
      requirements: { packages: { demo: '' } },
      timeout_seconds: null,
      rank_metric: payload.rank_metric,
      scheduler: job.scheduler,
      submission: job.submission,
      nativePayload: null,
      assignment: {
        mode: 'server_leased_executor',
        assigned_by: 'server',
        executor_principal: 'lab',
        worker_id: worker,
        required_rights: ['execute'],
        granted_rights: ['execute', 'read'],
      },
    });
  });

  for (const name of ['native_payload', 'nativePayload']) {
    it(`gets what the client gave as ${name}, verbatim, with every task of the job`, async (t) => {
      const client = await foreigner(t);
      const native = '{"z":1.0,"big":12345678901234567890,"nested":{"b":[null,1e-3],"a":{}}}';
      const datasets = JSON.stringify([JOB.dataset, { ...JOB.dataset, path: '/data/oil' }]);
      const { type, pipeline } = JOB;
      const text = `{"type":"${type}","pipeline":${JSON.stringify(pipeline)},"datasets":${datasets},"${name}": ${native}}`;
      const job = await client.get('POST /v1/jobs', text);
      assert.deepEqual(job.warnings, []);
      const worker = await client.register({ slots_total: 2 });
      for (let n = 0; n < 2; n++) {
        const answer = await client.ask(`POST /v1/workers/${worker}/lease`, {});
        assert.ok(answer.text.includes(`"nativePayload":${native}`), answer.text);
      }
    });
  }

  it('gets no task without work, one where there is work, and a list where it asks for several', async (t) => {
    const client = await foreigner(t);
    const worker = await client.register({ slots_total: 5 });
    const lease = `POST /v1/workers/${worker}/lease`;
    assert.deepEqual(await client.get(lease), { task: null });
    assert.deepEqual(await client.get(lease, { max_tasks: 3 }), { task: null, tasks: [] });
    for (let n = 0; n < 3; n++) await client.submit();
    const one = await client.get(lease, { wait_s: null, max_tasks: null });
    assert.deepEqual(Object.keys(one), ['task']);
    const several = await client.get(lease, { max_tasks: 9 });
    assert.equal(several.tasks.length, 2);
    assert.deepEqual(several.task, several.tasks[0]);
  });
});

describe('another implementation of a worker, reporting', () => {
  it('may leave out what has a default: the type of an event, the status of a result, the whole body', async (t) => {
    const { client, job, worker, task } = await foreignTask(t);
    const events = `POST /v1/tasks/${task.task_id}/events?worker_id=${worker}`;
    await client.get(events, { message: 'one' });
    await client.get(events, { type: null, message: 'two', progress: 0.5, level: null });
    await client.get(events, {
      events: [{ message: 'three' }, { type: 'odd', level: 'debug', data: { a: 1 } }],
    });
    await client.get(events);
    await client.complete(task, worker, '');
    const told = (await client.events(job)).filter(({ type }: Json) => type === 'log' || type === 'odd');
    assert.deepEqual(
      told.map(({ type, level, message, data }: Json) => [type, level, message, data]),
      [
        ['log', 'info', 'one', {}],
        ['log', 'info', 'two', { progress: 0.5 }],
        ['log', 'info', 'three', {}],
        ['odd', 'debug', '', { a: 1 }],
        ['log', 'info', '', {}],
      ],
    );
    const [view] = await client.get(`GET /v1/jobs/${job.id}/tasks`);
    assert.equal(view.result.status, 'succeeded');
    assert.equal((await client.get(`GET /v1/jobs/${job.id}`)).status, 'succeeded');
  });

  it('has its unknown fields kept, but not its claim of who reported, which the server attests itself', async (t) => {
    const { client, job, worker, task } = await foreignTask(t);
    await client.complete(task, worker, { demo_version: '1.0', provenance: { source: 'me' }, shape: [1, 2] });
    const { text, json } = await client.ask(`GET /v1/jobs/${job.id}/tasks`);
    const { provenance, ...result } = json[0].result;
    assert.deepEqual(result, { status: 'succeeded', demo_version: '1.0', shape: [1, 2] });
    assert.deepEqual(provenance, {
      source: 'worker_report',
      reported_by_principal: 'anonymous',
      worker_id: worker,
      job_id: job.id,
      task_id: task.task_id,
      attempt: 1,
      assignment_mode: 'server_leased_executor',
      required_rights: ['execute'],
      granted_rights: ['admin', 'cancel', 'execute', 'read', 'submit'],
    });
    assert.equal(text.split('"provenance"').length, 2, 'no member stands twice');
  });

  it('gets the same answer when it repeats an accepted report, also when another worker holds the task since', async (t) => {
    const client = await foreigner(t, { principals: ['ann:s3cret:admin', 'lab:t0ken:executor'] });
    const [ann, lab] = [new Foreigner(client.url, 's3cret'), new Foreigner(client.url, 't0ken')];
    await ann.submit();
    const [first, second] = [await ann.register(), await lab.register()];
    const task = await ann.take(first);
    const fail = `POST /v1/tasks/${task.task_id}/fail?worker_id=${first}&attempt=1`;
    const answer = await ann.get(fail, { error: 'e' });
    assert.deepEqual(answer, { ok: true, requeued: true });
    assert.equal((await lab.lease(second)).task_id, task.task_id);
    assert.deepEqual(await ann.get(fail, { error: 'e' }), answer);
    // What was not accepted before is another principal's matter now.
    const complete = `POST /v1/tasks/${task.task_id}/complete?worker_id=${first}&attempt=1`;
    assert.deepEqual(await ann.refusal(complete, {}), [403, 'not_owner']);
  });

  it('is no longer named by a task that was cancelled because it fell silent', async (t) => {
    const client = await foreigner(t, { leaseTtl: 3, heartbeatInterval: 0.5 });
    const job = await client.submit();
    const worker = await client.register();
    await client.take(worker);
    const path = `GET /v1/jobs/${job.id}`;
    assert.equal((await client.get(`POST /v1/jobs/${job.id}/cancel`)).status, 'cancelling');
    const [stopping] = await client.get(`${path}/tasks`);
    assert.deepEqual([stopping.status, stopping.worker_id], ['running', worker]);
    await until('the job to be cancelled', async () => (await client.get(path)).status === 'cancelled');
    const [task] = await client.get(`${path}/tasks`);
    assert.deepEqual([task.status, task.worker_id, task.lease_expires_at], ['cancelled', null, null]);
    const told = eventOf(await client.events(job), 'task_cancelled');
    assert.equal(told.worker_id, worker, 'the event says whose it was');
  });

  it('is still named by a task that it stopped itself', async (t) => {
    const { client, job, worker, task } = await foreignTask(t);
    await client.get(`POST /v1/jobs/${job.id}/cancel`);
    const { cancel_task_ids } = await client.get(`POST /v1/workers/${worker}/heartbeat`);
    assert.deepEqual(cancel_task_ids, [task.task_id]);
    await client.complete(task, worker);
    const [view] = await client.get(`GET /v1/jobs/${job.id}/tasks`);
    assert.deepEqual([view.status, view.worker_id], ['cancelled', worker]);
  });
});
