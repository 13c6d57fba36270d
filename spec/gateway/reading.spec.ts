import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { ParserPool } from '../../gateway/http/parsing/parser-pool.ts';
import { until } from '../support/until.ts';
import { ask, gatewayFor } from './support.ts';

const JOB =
  '"type":"mljs.run","pipeline":{"kind":"path","path":"p"},"dataset":{"kind":"catalog","catalog_id":"c"}';
const numbers = (count: number) => `{${JOB},"params":{"list":[${'1.0,'.repeat(count)}1e-3]}}`;
const order = (text: string, contentType?: string) => ({
  route: 'submitJob' as const,
  bytes: Buffer.from(text),
  form: { contentType, contentEncoding: undefined },
});
const YAML = 'application/yaml';

/** Sends a body that takes long to read; how often another request was answered before it was. */
async function answersMeanwhile(body: string, headers: Record<string, string> = {}) {
  await using gateway = await gatewayFor();
  gateway.cluster.onSend = () => ({ id: 'job_1' });
  let over = false;
  const slow = ask(gateway.port, { line: 'POST /v1/jobs', body, headers }).finally(() => {
    over = true;
  });
  let others = 0;
  while (!over) {
    await ask(gateway.port, { line: 'GET /healthz' });
    others++;
  }
  const { status, body: text } = await slow;
  return { status, error: JSON.parse(text), others, cluster: gateway.cluster };
}

describe('a body that takes long to read', () => {
  // A reader takes as long to start as hundreds of short requests; read in the event loop, there are two.
  const MANY = 20;

  it('does not delay others, who are served while it is read', async () => {
    const body = numbers(400_000);
    const { status, others, cluster } = await answersMeanwhile(body);
    assert.equal(status, 200);
    assert.ok(others > MANY, `${others} others were answered meanwhile`);
    assert.equal(cluster.received('submit_job')[0]?.job.text, body);
  });

  it('is refused as a small one is, with all that is wrong with it', async () => {
    const wrong = numbers(400_000).replace('"mljs.run"', '"R.run"').replace('"catalog"', '"disk"');
    const { status, error, others } = await answersMeanwhile(wrong);
    assert.deepEqual([status, error.code], [422, 'invalid_body']);
    assert.deepEqual(error.errors.map((fault: { path: string }) => fault.path).sort(), [
      '/dataset/kind',
      '/type',
    ]);
    assert.ok(others > MANY, `${others} others were answered meanwhile`);
  });

  it('may be YAML, of which a few kilobytes are enough', async () => {
    const body = `type: mljs.run\npipeline: {kind: path, path: p}\ndataset: {kind: catalog, catalog_id: c}\nparams:\n${'  - 1.0\n'.repeat(20_000)}`;
    const { status, error, others } = await answersMeanwhile(body, { 'Content-Type': YAML });
    assert.deepEqual([status, error.errors?.[0]?.path], [422, '/params']);
    assert.ok(others > MANY, `${others} others were answered meanwhile`);
  });

  it('may be YAML of some hundred bytes, whose aliases repeat each other', async () => {
    const towers = [1, 2, 3, 4, 5].map(
      (n) =>
        `  a${n}: &a${n} [${Array(9)
          .fill(`*a${n - 1}`)
          .join(', ')}]\n`,
    );
    const body = `type: mljs.run\npipeline: {kind: path, path: p}\ndataset: {kind: catalog, catalog_id: c}\nparams:\n  a0: &a0 [1.0]\n${towers.join('')}`;
    const { status, others } = await answersMeanwhile(body, { 'Content-Type': YAML });
    assert.equal(status, 200);
    assert.ok(others > MANY, `${others} others were answered meanwhile`);
  });

  it('does not delay others either where it holds nothing but faults', async () => {
    const body = '- a: b: c\n'.repeat(15_000);
    const { status, error, others } = await answersMeanwhile(body, { 'Content-Type': YAML });
    assert.deepEqual([status, error.code], [400, 'malformed_body']);
    assert.ok(others > MANY, `${others} others were answered meanwhile`);
  });
});

describe('a body of YAML', () => {
  for (const [title, body] of [
    ['elements', `params: [${'1,'.repeat(300_000)}1]`],
    ['brackets', '['.repeat(300_000)],
    ['lines', 'a\n'.repeat(300_000)],
    ['keys', 'a: 1\n'.repeat(150_000)],
  ] as const) {
    it(`of very many ${title} is refused before it is parsed`, async () => {
      await using gateway = await gatewayFor();
      const answer = await ask(gateway.port, {
        line: 'POST /v1/jobs',
        body,
        headers: { 'Content-Type': YAML },
      });
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [422, 'body_too_complex']);
    });
  }
});

describe('the processes that read bodies', () => {
  function pool(t: TestContext, options: ConstructorParameters<typeof ParserPool>[0] = {}) {
    const readers = new ParserPool(options);
    t.after(() => readers.stop());
    return readers;
  }

  it('keep numbers and order as they were written, and return only what the queue needs', async (t) => {
    const readers = pool(t);
    const digest = (await readers.parse(order(`{ "name":"n", ${numbers(3).slice(1)}`))) as Record<
      string,
      unknown
    >;
    assert.equal(digest.text, `{"name":"n",${numbers(3).slice(1)}`);
    assert.equal(digest.name, 'n');
    assert.equal('params' in digest, false);
  });

  it('are started when they are needed, and end when there is nothing to read any more', async (t) => {
    const readers = pool(t, { idleMs: 1 });
    assert.equal(readers.size, 0);
    await readers.parse(order(numbers(3)));
    await until('the reader has ended', () => readers.size === 0);
    await readers.parse(order(numbers(3)));
  });

  it('refuse a body that takes too long, and read the next', async (t) => {
    const readers = pool(t, { processes: 1, timeoutMs: 1 });
    await assert.rejects(readers.parse(order(numbers(3))), { code: 'body_too_complex' });
    await until('the reader has ended', () => readers.size === 0);
  });

  it('are heard before a body is refused for its time, where the server itself stood still', async (t) => {
    const readers = pool(t, { processes: 1, timeoutMs: 2_000 });
    const read = () => readers.parse(order(numbers(3)));
    await until('a reader', () => read().then(Boolean, () => false));
    const answer = read();
    // As a process that is stopped, or whose machine sleeps: what comes meanwhile waits in the sockets.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500);
    assert.ok(await answer);
  });

  it('refuse a body that takes too much memory, and read the next', async (t) => {
    const readers = pool(t, { processes: 1, memoryMib: 32 });
    const objects = `{${JOB},"params":{"list":[${'{"a":{}},'.repeat(900_000)}1]}}`;
    await assert.rejects(readers.parse(order(objects)), { code: 'body_too_complex' });
    await readers.parse(order(numbers(3)));
  });

  it('refuse with 503 while no process can be started, and read once one can', async (t) => {
    const readers = pool(t, { processes: 1 });
    const { execPath } = process;
    t.after(() => {
      process.execPath = execPath;
    });
    process.execPath = '/nowhere/node';
    await assert.rejects(readers.parse(order(numbers(3))), { code: 'overloaded' });
    process.execPath = execPath;
    await readers.parse(order(numbers(3)));
  });

  it('let a bounded number of bodies wait, and refuse the others', async (t) => {
    const readers = pool(t, { processes: 1, waiting: 1 });
    const taken = [readers.parse(order(numbers(3))), readers.parse(order(numbers(4)))];
    await assert.rejects(readers.parse(order(numbers(5))), { code: 'overloaded' });
    assert.equal((await Promise.all(taken)).length, 2);
  });

  it('refuse the bodies that wait when the server stops', async () => {
    const readers = new ParserPool({ processes: 1 });
    const refused = [
      assert.rejects(readers.parse(order(numbers(3)))),
      assert.rejects(readers.parse(order(numbers(3)))),
    ];
    readers.stop();
    await Promise.all(refused);
    await until('the readers have ended', () => readers.size === 0);
  });
});
