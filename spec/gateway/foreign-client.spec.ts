import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Foreigner, foreigner, JOB, type Json } from './foreign.ts';

/*
 * What other implementations of a client rely on, sentence by sentence (docs/protocol.md#names to docs/protocol.md#jobs), by plain HTTP:
 * nothing of this program's own client takes part.
 */

const without = (object: Json, ...names: string[]): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

describe('another implementation of a client, on names and versions', () => {
  for (const given of ['N4C', 'X-N4C', 'x-n4c', 'n4c']) {
    it(`sends and gets the version headers under a prefix that the server was given as ${given}`, async (t) => {
      const client = await foreigner(t, { headerPrefixes: [given] });
      const { status, headers } = await client.ask('GET /v1/jobs', undefined, { 'X-N4C-Api': '1.9' });
      assert.equal(status, 200);
      for (const prefix of ['X-CLUSTER', 'X-N4C']) {
        assert.equal(headers.get(`${prefix}-Api`), '1');
        assert.equal(headers.get(`${prefix}-Role`), 'server');
        assert.ok(headers.get(`${prefix}-Version`));
      }
      assert.deepEqual(
        [...headers.keys()].filter((name) => name.startsWith('x-x-')),
        [],
      );
      const other = { 'X-N4C-Api': '2' };
      assert.deepEqual(await client.refusal('GET /v1/jobs', undefined, other), [426, 'incompatible_api']);
    });
  }
});

describe('another implementation of a client, on bodies', () => {
  it('may end every path with a slash', async (t) => {
    const client = await foreigner(t);
    const job = await client.get('POST /v1/jobs/', JOB);
    const worker = (await client.get('POST /v1/workers/register/', { version: { packages: { demo: '1' } } }))
      .worker_id;
    const { task } = await client.get(`POST /v1/workers/${worker}/lease/`);
    await client.get(`POST /v1/tasks/${task.task_id}/start/?worker_id=${worker}`);
    await client.upload(`/v1/tasks/${task.task_id}/artifacts/?role=model`, 'm');
    for (const path of [
      ...['', '/version', '/healthz', '/openapi.json', '/v1/jobs', '/v1/stats', '/v1/workers', '/v1/events'],
      ...['', '/tasks', '/events', '/artifacts', '/request', '/ranking'].map(
        (of) => `/v1/jobs/${job.id}${of}`,
      ),
    ]) {
      const [bare, slashed] = [await client.ask(`GET ${path || '/'}`), await client.ask(`GET ${path}/`)];
      assert.equal(slashed.status, 200, path);
      assert.deepEqual(Object.keys(slashed.json), Object.keys(bare.json), path);
    }
    assert.match((await client.ask('GET /ui/')).text, /<!doctype html>/);
    assert.deepEqual(await client.refusal('DELETE /v1/jobs/'), [405, 'method_not_allowed']);
    assert.deepEqual(await client.refusal('GET /v1/jobs//'), [404, 'unknown_path']);
    assert.equal((await client.get(`POST /v1/jobs/${job.id}/cancel/`)).status, 'cancelling');
  });

  it('gets 200 and JSON for whatever it creates, bare arrays for lists, and the integer 1 for the version', async (t) => {
    const client = await foreigner(t);
    const job = await client.submit();
    for (const list of ['/v1/jobs', '/v1/workers', '/v1/events', `/v1/jobs/${job.id}/tasks`]) {
      assert.ok(Array.isArray(await client.get(`GET ${list}`)), list);
    }
    for (const path of ['/', '/version', '/v1/stats']) {
      assert.equal((await client.get(`GET ${path}`)).api_version, 1, path);
    }
  });

  it('may send null for every field that it could leave out, and unknown fields', async (t) => {
    const client = await foreigner(t);
    const optional =
      'name priority pipelines datasets params requirements outputs retry type timeout_seconds rank_metric rank_mode idempotency_key native_payload nativePayload';
    const nothing = Object.fromEntries(optional.split(' ').map((name) => [name, null]));
    const job = await client.get('POST /v1/jobs', {
      ...nothing,
      pipeline: { ...JOB.pipeline, name: null, expected_fingerprint: null },
      dataset: { ...JOB.dataset, name: null },
    });
    assert.equal(job.type, 'nirs4all.run');
    assert.deepEqual([job.name, job.priority, job.warnings], [null, 0, []]);
    const odd = await client.submit({ requirements: { labels: null, packages: null }, retires: 3 });
    assert.deepEqual(odd.warnings, ["unknown field 'retires', did you mean 'retry'?"]);
  });
});

describe('another implementation of a client, on errors', () => {
  it('is told that a task is not its own before anything that is wrong with its report', async (t) => {
    const client = await foreigner(t, {
      token: 'secret',
      principals: ['ann:works:executor', 'bob:b0b:executor'],
    });
    const [ann, bob] = [new Foreigner(client.url, 'works'), new Foreigner(client.url, 'b0b')];
    await client.submit();
    const hers = await ann.register();
    const his = await bob.register();
    const task = await ann.take(hers);
    const report = (verb: string, worker: string) =>
      `POST /v1/tasks/${task.task_id}/${verb}?worker_id=${worker}`;
    // The task is hers, at its first attempt: that he may not speak of it comes before that he says it wrongly.
    for (const worker of [his, hers]) {
      for (const verb of ['start', 'complete', 'fail']) {
        const body = verb === 'fail' ? { error: 'e' } : {};
        const { status, json } = await bob.ask(`${report(verb, worker)}&attempt=7`, body);
        assert.deepEqual([status, json.code], [403, 'not_owner'], verb);
        assert.equal(json.detail, `principal 'bob' is not registered for worker ${hers}`);
      }
      const event = { message: 'm' };
      assert.deepEqual(await bob.refusal(`${report('events', worker)}&attempt=7`, event), [403, 'not_owner']);
    }
    assert.deepEqual(await bob.refusal(`POST /v1/tasks/${task.task_id}/events`, {}), [403, 'not_owner']);
    assert.deepEqual(await ann.refusal(`${report('complete', hers)}&attempt=7`, {}), [409, 'stale_attempt']);
  });
});

describe('another implementation of a client, on jobs', () => {
  it('may leave the type out', async (t) => {
    const client = await foreigner(t);
    const job = await client.get('POST /v1/jobs', without(JOB, 'type'));
    assert.equal(job.type, 'nirs4all.run');
    assert.equal(job.scheduler.task_granularity, 'whole_nirs4all_run');
    const [task] = await client.get(`GET /v1/jobs/${job.id}/tasks`);
    assert.deepEqual(task.requirements.packages, { nirs4all: '' });
  });

  it('may pin any fingerprint, and is warned of one that no pipeline can have', async (t) => {
    const client = await foreigner(t);
    const pinned = (expected_fingerprint: string) =>
      client.submit({ pipeline: { ...JOB.pipeline, expected_fingerprint } });
    assert.deepEqual((await pinned(`sha256:${'0'.repeat(64)}`)).warnings, []);
    const worker = await client.register();
    await client.complete(await client.take(worker), worker);
    for (const odd of ['abc', '', `sha256:${'A'.repeat(64)}`, 'x'.repeat(5000)]) {
      const job = await pinned(odd);
      assert.equal(job.warnings.length, 1, odd);
      assert.ok(job.warnings[0].startsWith(`expected_fingerprint '${odd.slice(0, 100)}`), job.warnings[0]);
      await client.complete(await client.take(worker), worker, { pipeline_fingerprint: 'sha256:1' });
      const told = (await client.events(job)).find(
        ({ type }: Json) => type === 'pipeline_fingerprint_mismatch',
      );
      assert.equal(told.data.reported, 'sha256:1');
      assert.ok(told.data.expected.startsWith(odd.slice(0, 900)) && told.data.expected.length <= 1000);
      assert.equal((await client.get(`GET /v1/jobs/${job.id}`)).status, 'succeeded', 'the result stands');
    }
  });

  it('sees who submitted a job and how it is assigned, attested by the server whatever the client sent', async (t) => {
    const client = await foreigner(t, { principals: ['ann:s3cret:submitter'] });
    const ann = new Foreigner(client.url, 's3cret');
    const job = await ann.submit({
      submission: { principal: 'root' },
      scheduler: { shape: 'x' },
      parity: true,
    });
    assert.deepEqual(job.warnings, []);
    assert.deepEqual(job.submission, {
      mode: 'client_submitted',
      principal: 'ann',
      required_rights: ['submit'],
      granted_rights: ['cancel', 'read', 'submit'],
    });
    assert.deepEqual(job.scheduler, {
      shape: 'atomic',
      task_granularity: 'whole_demo_run',
      assignment_mode: 'server_leased_executor',
      result_provenance: 'server_attested_worker_report',
      submit_rights_required: ['submit'],
      execute_rights_required: ['execute'],
    });
    const [listed] = await ann.get('GET /v1/jobs');
    assert.deepEqual([listed.submission, listed.scheduler], [job.submission, job.scheduler]);
  });

  it('sees the shape of a job: one task, a matrix, or a graph of steps', async (t) => {
    const client = await foreigner(t);
    const shape = async (changes: Json) => (await client.submit(changes)).scheduler.shape;
    const inline = (inline: Json) => ({ pipeline: { kind: 'inline_json', inline } });
    const datasets = { dataset: null, datasets: [JOB.dataset, { ...JOB.dataset, path: '/data/oil' }] };
    assert.equal(await shape({}), 'atomic');
    assert.equal(await shape(datasets), 'pipeline_dataset_matrix');
    for (const dag of [
      { dagml: {} },
      { dag: { nodes: [] } },
      { pipeline: [{ a: 1 }, { a: 2, after: ['a'] }] },
      { steps: [{ deps: [] }] },
      { pipeline: 'no list', steps: [{ after: 'a' }] },
    ]) {
      assert.equal(await shape(inline(dag)), 'dag_shaped_whole_run', JSON.stringify(dag));
      assert.equal(await shape({ ...inline(dag), ...datasets }), 'dag_shaped_whole_run');
    }
    for (const plain of [
      { dag: [] },
      { dagml: 'yes' },
      { pipeline: [{ a: 1 }], steps: [{ after: 'a' }] },
      { steps: ['after'] },
      [{ after: 'a' }],
      'dag',
      null,
    ]) {
      assert.equal(await shape(inline(plain)), 'atomic', JSON.stringify(plain));
    }
  });

  it('may cancel a job that has ended, which changes nothing but is recorded every time', async (t) => {
    const client = await foreigner(t);
    const job = await client.submit();
    const ended = await client.get(`POST /v1/jobs/${job.id}/cancel`);
    const again = await client.get(`POST /v1/jobs/${job.id}/cancel`);
    assert.deepEqual([ended.status, again.status], ['cancelled', 'cancelled']);
    const types = (await client.events(job)).map(({ type }: Json) => type);
    assert.equal(types.filter((type: string) => type === 'job_cancel_requested').length, 2);
  });
});
