import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { s3Location } from '../../actors/server/blobs/s3/location.ts';
import { run } from '../cli/cli-support.ts';
import { startTestServer } from '../support/server.ts';
import { newPrefix, pointTo, service } from './places.ts';
import { requiresS3, startMoto } from './services.ts';

const moto = service(startMoto);

/** What `jqctl doctor` finds of objects, with its exit code. */
async function found(server: { url: string }): Promise<{ code: number; level: string; says: string }> {
  const { code, stdout } = await run(['doctor', '--json', '--server', server.url]);
  const { findings } = JSON.parse(stdout) as { findings: { about: string; level: string; says: string }[] };
  const of = findings.filter(({ about }) => about === 'objects');
  return { code, level: of.map(({ level }) => level).join(), says: of.map(({ says }) => says).join('; ') };
}

async function served(t: TestContext) {
  const proxy = await moto();
  const { url, bucket } = await newPrefix();
  const server = await startTestServer(t, { objects: s3Location(url) });
  return { proxy, url, bucket, server };
}

describe('jqctl doctor at a server whose objects lie in S3', requiresS3(), () => {
  test('finds that it answers, takes the credentials and writes on condition, and leaves nothing there', async (t) => {
    const { server, bucket } = await served(t);
    const well = {
      code: 0,
      level: 'ok',
      says: 'the object store answers and takes the credentials and conditional writes',
    };
    assert.deepEqual(await found(server), well);
    for await (const page of bucket.list(''))
      assert.deepEqual(
        page.map(({ key }) => key),
        ['owner.json'],
      );
  });

  test('finds one that knows no conditions', async (t) => {
    const { server, proxy } = await served(t);
    proxy.fault = (_, { headers }) =>
      headers['if-none-match'] === undefined ? undefined : { status: 501, code: 'NotImplemented' };
    const { code, says } = await found(server);
    assert.equal(code, 0);
    assert.match(says, /knows no conditional writes/);
  });

  for (const [what, fault, words] of [
    ['is gone', 'cut', /does not answer/],
    ['hangs', 'hang', /does not answer/],
    ['refuses the credentials', { status: 403, code: 'InvalidAccessKeyId' }, /refuses the credentials/],
    ['has lost the bucket', { status: 404, code: 'NoSuchBucket' }, /has no bucket/],
    ['fails', { status: 500, code: 'InternalError' }, /answers that it cannot/],
  ] as const) {
    test(`finds one that ${what}`, async (t) => {
      const { server, proxy } = await served(t);
      proxy.fault = () => fault;
      const { code, level, says } = await found(server);
      assert.deepEqual([code, level], [1, 'problem']);
      assert.match(says, words);
      proxy.fault = () => undefined;
    });
  }

  test('finds credentials that may read and not write', async (t) => {
    const { server, proxy } = await served(t);
    proxy.fault = (asked) => (asked.startsWith('PUT ') ? { status: 403, code: 'AccessDenied' } : undefined);
    assert.match((await found(server)).says, /may not read, write and remove/);
  });

  test('finds objects that another store took', async (t) => {
    const { server, bucket } = await served(t);
    await bucket.putText('owner.json', '{"store":"another"}', false);
    assert.match((await found(server)).says, /no objects of this store/);
  });

  test('finds a clock that is an hour ahead', async (t) => {
    const proxy = await moto();
    const late = createServer((incoming, answer) => {
      const { method, url, headers } = incoming;
      const onward = request(proxy.url, { method, path: url, headers }, (from) => {
        const date = new Date(Date.now() + 3_600_000).toUTCString();
        answer.writeHead(from.statusCode ?? 500, { ...from.headers, date });
        from.pipe(answer);
      });
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => late.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      late.closeAllConnections();
      late.close();
    });
    pointTo(`http://127.0.0.1:${(late.address() as AddressInfo).port}`);
    const { url } = await newPrefix();
    const server = await startTestServer(t, { objects: s3Location(url) });
    const { code, says } = await found(server);
    assert.equal(code, 1);
    assert.match(says, /the clock of the object store is (1 h|59 min).* ahead of that of the server/);
  });
});
