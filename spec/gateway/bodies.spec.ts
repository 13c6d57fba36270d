import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FakeBackend } from '../support/fake-backend.ts';
import { until } from '../support/until.ts';
import { piecesOf } from '../support/views.ts';
import { type Ask, ask, gatewayFor, type RawAnswer, RawConnection } from './support.ts';

const JOB =
  '{"type":"mljs.run","pipeline":{"kind":"path","path":"p"},"dataset":{"kind":"catalog","catalog_id":"c"}}';

interface Fault {
  path: string;
  line?: number;
}

const accepted = () => ({ id: 'job_1', aggregate: { num_tasks: 1 } });

/** Sends a body, and gives the answer beside what the cluster was told. */
async function post(path: string, rest: Omit<Ask, 'line'>, limit?: number) {
  await using gateway = await gatewayFor(limit === undefined ? {} : { maxRequestBytes: limit });
  gateway.cluster.onSend = accepted;
  const answer = await ask(gateway.port, { line: `POST ${path}`, ...rest });
  return { answer, cluster: gateway.cluster, error: JSON.parse(answer.body) };
}

const submitted = (cluster: FakeBackend) => cluster.received('submit_job')[0];

describe('a JSON body', () => {
  it('reaches the cluster as compact text, digits and order as written', async () => {
    const text = `{ "params" : {"z": 1.0, "a": 1e-3, "n": 12345678901234567890},\n${JOB.slice(1)}`;
    const { answer, cluster } = await post('/v1/jobs', { body: text });
    assert.equal(answer.status, 200);
    assert.equal(
      submitted(cluster)?.job.text,
      `{"params":{"z":1.0,"a":1e-3,"n":12345678901234567890},${JOB.slice(1)}`,
    );
  });

  it('needs no content type, and may begin with a byte order mark', async () => {
    const { answer, cluster } = await post('/v1/jobs', { body: `\uFEFF${JOB}` });
    assert.equal(answer.status, 200);
    assert.equal(submitted(cluster)?.job.text, JOB);
  });

  it('may come in chunks, cut anywhere', async () => {
    await using gateway = await gatewayFor();
    gateway.cluster.onSend = accepted;
    const connection = await RawConnection.open(gateway.port);
    const body = Buffer.from(JOB.replace('"p"', '"é€😀"'));
    connection.head('POST /v1/jobs', { 'Transfer-Encoding': 'chunked' });
    for (const byte of body) connection.write(Buffer.from([0x31, 13, 10, byte, 13, 10]));
    connection.write('0\r\n\r\n');
    assert.equal((await connection.answer()).status, 200);
    connection.close();
    assert.equal(submitted(gateway.cluster)?.job.text, body.toString());
  });

  for (const body of ['', '  \n']) {
    it(`that is ${JSON.stringify(body)} is an empty object`, async () => {
      const { answer, cluster } = await post('/v1/workers/worker_1/heartbeat', { body });
      assert.equal(answer.status, 200);
      assert.equal(cluster.received('heartbeat').length, 1);
    });
  }

  it('may hold null in an optional field, which then counts as absent', async () => {
    const { cluster } = await post('/v1/workers/worker_1/heartbeat', {
      body: '{"active":null,"wait_s":null}',
    });
    const [heartbeat] = cluster.received('heartbeat');
    assert.deepEqual([heartbeat?.active, heartbeat?.wait_s], [undefined, 0]);
  });

  const malformed: [string, string | Buffer, RegExp][] = [
    ['that breaks off', '{"type":', /malformed JSON/],
    ['with a bare NaN from a client', JOB.replace('"p"', 'NaN'), /malformed JSON/],
    ['that is not UTF-8', Buffer.from([0x22, 0xff, 0x22]), /not valid UTF-8/],
    [
      'nested 100,000 levels deep',
      `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      /deeper than 500 levels/,
    ],
    ['of 100,000 opening brackets', '['.repeat(100_000), /deeper than 500 levels/],
  ];
  for (const [title, body, detail] of malformed) {
    it(`${title} gets 400`, async () => {
      const { answer, error, cluster } = await post('/v1/jobs', { body });
      assert.deepEqual([answer.status, error.code], [400, 'malformed_body']);
      assert.match(error.detail, detail);
      assert.equal(cluster.sent.length, 0);
    });
  }

  it('that is compressed gets 400, which says so', async () => {
    const { answer, error } = await post('/v1/jobs', { body: 'x', headers: { 'Content-Encoding': 'gzip' } });
    assert.equal(answer.status, 400);
    assert.match(error.detail, /compressed \(gzip\)/);
  });

  it('that is no object gets 422', async () => {
    const { answer, error } = await post('/v1/jobs', { body: '[]' });
    assert.equal(answer.status, 422);
    assert.deepEqual(error.errors, [{ path: '/', message: 'must be object' }]);
  });

  it('gets 422 that lists every fault at once', async () => {
    const body =
      '{"type":"R.run","priority":"high","pipeline":{"kind":"file"},"retry":{"max_attempts":11},' +
      '"dataset":{"kind":"catalog","catalog_id":"c"}}';
    const { answer, error } = await post('/v1/jobs', { body });
    assert.deepEqual([answer.status, error.code], [422, 'invalid_body']);
    const paths = error.errors.map((fault: { path: string }) => fault.path).sort();
    assert.deepEqual(paths, ['/pipeline/kind', '/priority', '/retry/max_attempts', '/type']);
  });

  it('from a worker may hold NaN and Infinity, which are read as null', async () => {
    const body = '{"status":"succeeded","metrics":{"best_rmse":NaN,"best_r2":-Infinity,"note":"NaN"}}';
    const { answer, cluster } = await post('/v1/tasks/task_1/complete?worker_id=w', { body });
    assert.equal(answer.status, 200);
    const { metrics, text } = cluster.received('complete_task')[0]?.result ?? {};
    assert.deepEqual({ ...metrics }, { best_rmse: null, best_r2: null });
    assert.match(text ?? '', /"extra":{"metrics":{"note":"NaN"}}/);
  });
});

describe('the limit of a body', () => {
  const exact = JOB.padEnd(500);
  const over = JOB.padEnd(501);

  for (const chunked of [false, true]) {
    const how = chunked ? 'counted as it comes' : 'declared';
    it(`lets through what just fits, ${how}`, async () => {
      const { answer } = await post('/v1/jobs', { body: exact, chunked }, 500);
      assert.equal(answer.status, 200);
    });

    it(`refuses one byte more, ${how}`, async () => {
      const { answer, error } = await post('/v1/jobs', { body: over, chunked }, 500);
      assert.deepEqual([answer.status, error.code], [413, 'body_too_large']);
      assert.match(error.detail, /500 bytes \(--max-request-mb\)/);
    });
  }

  it('is enforced before the rest of the body has come', async () => {
    await using gateway = await gatewayFor({ maxRequestBytes: 500 });
    const connection = await RawConnection.open(gateway.port);
    connection.head('POST /v1/jobs', { 'Transfer-Encoding': 'chunked' });
    connection.chunk(over);
    assert.equal((await connection.answer()).status, 413);
    connection.close();
  });

  it('leaves the connection usable for the next request', async () => {
    await using gateway = await gatewayFor({ maxRequestBytes: 500 });
    const connection = await RawConnection.open(gateway.port);
    connection.head('POST /v1/jobs', { 'Content-Length': '501' });
    connection.write(over);
    const refused = await connection.answer();
    connection.head('GET /healthz');
    const served = await connection.answer();
    connection.close();
    assert.deepEqual([refused.status, served.status], [413, 200]);
  });
});

describe('a YAML body', () => {
  const yaml = [
    'type: mljs.run',
    'pipeline: {kind: path, path: p}',
    'dataset: {kind: catalog, catalog_id: c}',
    'params:',
    '  z: 1.0',
    '  a: 1e-3',
    '  n: 12345678901234567890',
  ].join('\n');

  for (const type of ['application/yaml', 'application/x-yaml; charset=utf-8', 'text/yaml']) {
    it(`is read under ${type}, digits as written`, async () => {
      const { answer, cluster } = await post('/v1/jobs', { body: yaml, headers: { 'Content-Type': type } });
      assert.equal(answer.status, 200);
      assert.match(
        submitted(cluster)?.job.text ?? '',
        /"params":{"z":1.0,"a":1e-3,"n":12345678901234567890}}$/,
      );
    });
  }

  it('with a fault gets 400 with its line and column', async () => {
    const body = 'type: mljs.run\npipeline: {kind: path\n';
    const { answer, error } = await post('/v1/jobs', {
      body,
      headers: { 'Content-Type': 'application/yaml' },
    });
    assert.deepEqual([answer.status, error.code], [400, 'malformed_body']);
    assert.match(error.detail, /line \d+, column \d+/);
  });

  it('that is not valid gets its faults with the lines on which they stand; JSON gets none', async () => {
    const body = '# a comment\ntype: mljs.run\npriority: high\ndataset: { kind: path, path: p }\n';
    const headers = { 'Content-Type': 'application/yaml' };
    const { error } = await post('/v1/jobs', { body, headers });
    assert.equal(error.code, 'invalid_body');
    const lines = new Map((error.errors as Fault[]).map(({ path, line }) => [path, line]));
    assert.deepEqual([lines.get('/priority'), lines.get('/dataset/kind')], [3, 4]);
    const json = await post('/v1/jobs', { body: '{"priority":\n"high"}' });
    assert.deepEqual(
      (json.error.errors as Fault[]).filter(({ line }) => line !== undefined),
      [],
    );
  });

  it('beyond 2 MiB gets 413 at once, since reading it would hold up the server', async () => {
    const body = `name: ${'x'.repeat(2 * 1024 * 1024)}`;
    const headers = { 'Content-Type': 'application/yaml' };
    const { answer, error } = await post('/v1/jobs', { body, headers });
    assert.deepEqual([answer.status, error.code], [413, 'body_too_large']);
    assert.match(error.detail, /as JSON/);
  });

  it('is refused where an endpoint takes JSON only', async () => {
    const headers = { 'Content-Type': 'application/yaml' };
    const { answer, error } = await post('/v1/workers/register', { body: 'name: w', headers });
    assert.equal(answer.status, 400);
    assert.match(error.detail, /takes JSON/);
  });
});

describe('a query', () => {
  async function list(query: string): Promise<{ answer: RawAnswer; asked: unknown }> {
    await using gateway = await gatewayFor();
    let asked: unknown;
    gateway.cluster.reads.jobs = (q) => {
      asked = q;
      return piecesOf([]);
    };
    return { answer: await ask(gateway.port, { line: `GET /v1/jobs?${query}` }), asked };
  }

  it('arrives with its numbers parsed, unknown parameters left out', async () => {
    const { asked } = await list('limit=5&created_before=1.5e9&name=a%20b+c%25&colour=red');
    assert.deepEqual({ ...(asked as object) }, { limit: 5, created_before: 1.5e9, name: 'a b c%' });
  });

  it('has its limit clamped, not refused', async () => {
    const { asked } = await list('limit=99999');
    assert.equal((asked as { limit: number }).limit, 1000);
  });

  for (const [query, told] of [
    ['limit=ten', "'limit' must be integer"],
    ['limit=1.5', "'limit' must be integer"],
    ['limit=0', "'limit' must be >= 1"],
    ['limit=', "'limit' must be integer"],
    ['created_before=Infinity', "'created_before' must be number"],
    ['status=done', "'status' must be one of"],
    ['name=%e9', 'percent-encoding'],
    ['limit=ten&created_before=now', "'created_before' must be number"],
  ] as const) {
    it(`that cannot be read gets 400 that says why: ${query}`, async () => {
      const { answer } = await list(query);
      const error = JSON.parse(answer.body);
      assert.deepEqual([answer.status, error.code], [400, 'malformed_query']);
      assert.ok(error.detail.includes(told), error.detail);
    });
  }
});

describe('a client that goes away', () => {
  it('in the middle of its body changes nothing', async () => {
    await using gateway = await gatewayFor();
    const connection = await RawConnection.open(gateway.port);
    connection.head('POST /v1/jobs', { 'Content-Length': String(JOB.length) });
    connection.write(JOB.slice(0, 20));
    connection.close();
    // The next request is served, so the broken one has been dealt with by then.
    assert.equal((await ask(gateway.port, { line: 'GET /healthz' })).status, 200);
    assert.equal(gateway.cluster.sent.length, 0);
  });

  it('before it is answered gives its lease back', async () => {
    await using gateway = await gatewayFor();
    const { cluster } = gateway;
    let release: (reply: unknown) => void = () => {};
    cluster.onSend = (message) =>
      message.type === 'lease' ? new Promise((resolve) => (release = resolve)) : { ok: true };
    const connection = await RawConnection.open(gateway.port);
    connection.head('POST /v1/workers/worker_1/lease', { 'Content-Length': '13' });
    connection.write('{"wait_s":20}');
    await until('the lease', () => cluster.received('lease').length === 1);
    const { signal } = cluster.received('lease')[0] as { signal: AbortSignal };
    assert.equal(signal.aborted, false);
    connection.close();
    await until('the signal', () => signal.aborted);
    release({ tasks: [{ task_id: 'task_1', attempt: 3, payload: { text: '{}' } }] });
    await until('the lease given back', () => cluster.received('lease_undelivered').length === 1);
    const [undelivered] = cluster.received('lease_undelivered');
    assert.deepEqual(undelivered?.tasks, [{ task_id: 'task_1', attempt: 3 }]);
  });

  it('after it is answered keeps its lease', async () => {
    await using gateway = await gatewayFor();
    gateway.cluster.onSend = () => ({ tasks: [] });
    await ask(gateway.port, { line: 'POST /v1/workers/worker_1/lease' });
    assert.equal(gateway.cluster.received('lease_undelivered').length, 0);
  });
});
