import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { s3Location } from '../../actors/server/blobs/s3/location.ts';
import { run } from '../cli/cli-support.ts';
import { startTestServer } from '../support/server.ts';
import { newPrefix, service } from './places.ts';
import { requiresS3, startSwift } from './services.ts';

const swift = service(startSwift);
const BYTES = randomBytes(300_000);
const ETAG = `"${createHash('sha256').update(BYTES).digest('hex')}"`;

/** A server with an artifact, and what was asked of the object store with an address that was made for it. */
async function serve(t: TestContext, presign = true) {
  const proxy = await swift();
  const { url } = await newPrefix();
  const server = await startTestServer(t, { objects: s3Location(url), presign, token: 'secret' });
  const body = new FormData();
  body.set('file', new Blob([BYTES]), 'a model.bin');
  const headers = { authorization: 'Bearer secret' };
  const stored = await fetch(`${server.url}/v1/artifacts`, { method: 'POST', body, headers });
  const { artifact_id } = (await stored.json()) as { artifact_id: string };
  const get = (more: Record<string, string>, method = 'GET') =>
    fetch(`${server.url}/v1/artifacts/${artifact_id}`, {
      ...{ method, redirect: 'manual', headers: { ...headers, ...more } },
    });
  const direct = () => proxy.seen.filter((asked) => asked.includes('X-Amz-Signature='));
  return { server, proxy, artifact_id, get, direct };
}

describe('an artifact that the object store gives itself', requiresS3(), () => {
  test('is given so to who asks for it, by an address that needs no credential; to others by the server', async (t) => {
    const { get, direct } = await serve(t);
    for (const asked of [{}, { prefer: 'respond-async' }] as Record<string, string>[]) {
      const answer = await get(asked);
      assert.deepEqual([answer.status, Buffer.from(await answer.arrayBuffer())], [200, BYTES]);
    }
    assert.equal((await get({ prefer: 'redirect' }, 'HEAD')).status, 200);
    assert.equal((await get({ prefer: 'redirect', 'if-none-match': ETAG })).status, 304);
    const sent = await get({ prefer: 'wait=1, redirect' });
    const told = ['etag', 'preference-applied', 'cache-control'].map((name) => sent.headers.get(name));
    assert.deepEqual([sent.status, ...told], [307, ETAG, 'redirect', 'no-store']);
    assert.deepEqual(direct(), []);
    const location = sent.headers.get('location') as string;
    const given = await fetch(location);
    assert.deepEqual([given.status, Buffer.from(await given.arrayBuffer())], [200, BYTES]);
    assert.match(given.headers.get('content-disposition') as string, /a model\.bin/);
    const part = await fetch(location, { headers: { range: 'bytes=10-19' } });
    assert.deepEqual([part.status, Buffer.from(await part.arrayBuffer())], [206, BYTES.subarray(10, 20)]);
    assert.equal((await fetch(location.replace(/Signature=../, 'Signature=00'))).status, 403);
    assert.equal((await fetch(location, { method: 'DELETE' })).status, 403);
  });

  test('comes to our clients from there, under the SHA-256 that the server says', async (t) => {
    const { server, artifact_id, direct } = await serve(t);
    const whole = await server.client.download(artifact_id);
    assert.deepEqual([whole.status, whole.headers.etag, await buffer(whole.body)], [200, ETAG, BYTES]);
    assert.match(String(whole.headers['content-disposition']), /a model\.bin/);
    const part = await server.client.download(artifact_id, { range: 'bytes=5-' });
    assert.deepEqual([part.status, await buffer(part.body)], [206, BYTES.subarray(5)]);
    assert.equal(direct().length, 2);
  });

  test('comes from the server where the object store does not give it, or cannot be reached by the client', async (t) => {
    const { server, proxy, artifact_id } = await serve(t);
    for (const fault of ['cut', { status: 403, code: 'AccessDenied' }] as const) {
      let befell = 0;
      proxy.fault = (asked) => {
        if (!asked.includes('X-Amz-Signature=')) return undefined;
        befell++;
        return fault;
      };
      const { headers, body } = await server.client.download(artifact_id);
      assert.deepEqual([headers.etag, await buffer(body)], [ETAG, BYTES]);
      assert.ok(befell > 0);
    }
  });

  test('is there only where the server was told so', async (t) => {
    const { server, artifact_id, get, direct } = await serve(t, false);
    assert.equal((await get({ prefer: 'redirect' })).status, 200);
    assert.deepEqual(await buffer((await server.client.download(artifact_id)).body), BYTES);
    assert.deepEqual(direct(), []);
    const { code, stderr } = await run(['--presign', '--port', '0'], { program: 'jq-server' });
    assert.deepEqual([code, /--objects/.test(stderr)], [2, true], stderr);
  });
});
