import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BodyBudget } from '../../gateway/http/request/body-budget.ts';
import { deferred } from '../support/deferred.ts';
import { inTime } from '../support/in-time.ts';
import { JOB } from '../support/job.ts';
import { until } from '../support/until.ts';
import { failing } from '../support/views.ts';
import { ask, gatewayFor, RawConnection, recordingLog } from './support.ts';

const KIB = 1024;
/** Bytes of each body that are not counted. */
const FREE = 16 * KIB;

const jobOf = (bytes: number) =>
  JSON.stringify({ ...JOB, pipeline: { kind: 'inline_json', inline: 'x'.repeat(bytes) } });

describe('the memory that bodies may take together', () => {
  it('is counted from the first byte to the answer, and then released', () => {
    const budget = new BodyBudget(100 * KIB);
    const [one, two] = [budget.share(), budget.share()];
    one.take(FREE + 60 * KIB);
    assert.equal(budget.held, 60 * KIB);
    two.take(FREE);
    assert.equal(budget.held, 60 * KIB, 'small bodies find their way at any time');
    two.take(40 * KIB);
    assert.throws(() => two.take(1), { code: 'overloaded' });
    one.release();
    one.release();
    assert.equal(budget.held, 40 * KIB);
    two.take(1);
    two.release();
    assert.equal(budget.held, 0);
  });

  it('is refused to more bodies with 503 while the store is slow, but not to heartbeats', async () => {
    // Four bodies of the largest size are the limit: 400 KiB.
    await using gateway = await gatewayFor({ maxRequestBytes: 100 * KIB });
    const { cluster, port } = gateway;
    const stored = deferred();
    cluster.onSend = async ({ type }) => {
      if (type === 'submit_job') await stored.promise;
      return { ok: true };
    };
    const submit = () => ask(port, { line: 'POST /v1/jobs', body: jobOf(90 * KIB) });
    const waiting = Array.from({ length: 5 }, submit);
    await until('five to wait for the store', () => cluster.received('submit_job').length === 5);
    const refused = await submit();
    assert.deepEqual([refused.status, JSON.parse(refused.body).code], [503, 'overloaded']);
    assert.equal(refused.headers.get('retry-after'), '1');
    const heartbeat = { line: 'POST /v1/workers/worker_1/heartbeat', body: '{}' };
    assert.equal((await ask(port, heartbeat)).status, 200);
    stored.resolve();
    for (const { status } of await Promise.all(waiting)) assert.equal(status, 200);
    assert.equal((await submit()).status, 200, 'what was answered no longer counts');
  });

  it('is taken as by the largest body by YAML with aliases, which may become as large', async () => {
    await using gateway = await gatewayFor();
    const { cluster, port } = gateway;
    const stored = deferred();
    cluster.onSend = async () => {
      await stored.promise;
      return { ok: true };
    };
    const headers = { 'Content-Type': 'application/yaml' };
    const submit = (params: string) =>
      ask(port, {
        line: 'POST /v1/jobs',
        body: `{ ${JSON.stringify(JOB).slice(1, -1)}, params: ${params} }`,
        headers,
      });
    // One too many, of which one is answered while all the others wait.
    const submitted = Array.from({ length: 5 }, () => submit('{ x: &a 1, y: *a }'));
    const refused = await inTime('one of five to be refused', Promise.race(submitted));
    assert.deepEqual([refused.status, JSON.parse(refused.body).code], [503, 'overloaded']);
    const plain = submit('{ x: 1, y: 1 }');
    await until('one without aliases to wait', () => cluster.received('submit_job').length === 5);
    stored.resolve();
    assert.equal((await plain).status, 200);
  });

  it('is released when a client goes in the middle of its body', async () => {
    await using gateway = await gatewayFor({ maxRequestBytes: 100 * KIB });
    const { port } = gateway;
    const submit = () => ask(port, { line: 'POST /v1/jobs', body: jobOf(90 * KIB) });
    const connections = await Promise.all(Array.from({ length: 5 }, () => RawConnection.open(port)));
    for (const connection of connections) {
      connection.head('POST /v1/jobs', { 'Content-Length': String(100 * KIB) });
      connection.write('x'.repeat(95 * KIB));
    }
    await until('the limit to be reached', async () => (await submit()).status === 503);
    for (const connection of connections) connection.close();
    await until('the limit to be far again', async () => (await submit()).status === 200);
  });
});

describe('a server that can open no more files', () => {
  for (const code of ['EMFILE', 'ENFILE']) {
    it(`answers 503 with the time to wait, not 500 (${code})`, async () => {
      await using gateway = await gatewayFor();
      const fault = Object.assign(new Error('too many open files'), { code });
      gateway.cluster.reads.jobs = () => failing(fault);
      const answer = await ask(gateway.port, { line: 'GET /v1/jobs' });
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [503, 'overloaded']);
      assert.equal(answer.headers.get('retry-after'), '1');
    });
  }
});

describe('a server whose store has damaged pages', () => {
  for (const code of ['SQLITE_CORRUPT', 'SQLITE_NOTADB']) {
    it(`says what its owner can do, in the answer and once as an error in the log (${code})`, async () => {
      const { lines, log } = recordingLog('error');
      await using gateway = await gatewayFor({ log });
      const fault = Object.assign(new Error('database disk image is malformed'), { code });
      gateway.cluster.reads.jobs = () => failing(fault);
      for (let i = 0; i < 3; i++) {
        const { status, body } = await ask(gateway.port, { line: 'GET /v1/jobs' });
        assert.deepEqual([status, JSON.parse(body).code], [500, 'store_damaged']);
        assert.match(JSON.parse(body).detail, /restores a copy.*jq-server check/);
      }
      assert.equal(lines.length, 1);
      assert.match(lines.join(), /malformed.*jq-server check/);
    });
  }
});
