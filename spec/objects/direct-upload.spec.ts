import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import pino from 'pino';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { s3Location } from '../../actors/server/blobs/s3/location.ts';
import { S3Objects } from '../../actors/server/blobs/s3/s3-objects.ts';
import type { PlacedBytes } from '../../gateway/backend.ts';
import type { DirectPut, DirectUploadReply } from '../../machines/schema/direct-upload.ts';
import { Hand, submit } from '../dashboard/hands.ts';
import { openBlobs } from '../store/blob-support.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { sha256 } from '../support/sha256.ts';
import type { Fault } from './fault-proxy.ts';
import { newPrefix, s3Kind, service } from './places.ts';
import { requiresS3, startMoto, startSwift } from './services.ts';

const swift = service(startSwift);
const moto = service(startMoto);
const isDirect = (asked: string) => asked.startsWith('PUT ') && asked.includes('X-Amz-Signature=');
const MIB = 1024 * 1024;
const DAY = 86_400;

/** A server whose object store is at the end of a way on which faults are made. */
async function serve(
  t: TestContext,
  options: Partial<Parameters<typeof startTestServer>[1]> = {},
  its = swift,
) {
  const proxy = await its();
  const { url, bucket } = await newPrefix();
  const server = await startTestServer(t, { objects: s3Location(url), presign: true, ...options });
  const folder = await temporaryDirectory(t);
  let files = 0;
  const fileOf = async (bytes: Uint8Array) => {
    const file = join(folder, `${++files}`);
    await writeFile(file, bytes);
    return file;
  };
  const keys = async () => {
    const found: string[] = [];
    for await (const page of bucket.list('objects/')) found.push(...page.map(({ key }) => key));
    return found.sort();
  };
  /** The PUTs past the server, but for those by which it tries the service. */
  const direct = () => proxy.seen.filter((asked) => isDirect(asked) && !isTrial(asked)).length;
  let known: string[] = [];
  const isTrial = (asked: string) => !known.some((hash) => asked.includes(hash));
  const upload = async (bytes: Uint8Array, client = server.client) => {
    known = [...known, sha256(bytes)];
    return client.upload('uploadArtifact', { file: await fileOf(bytes), filename: 'ein Modell.bin' });
  };
  const bytesOf = async (id: string) => buffer((await server.client.download(id)).body);
  return { server, proxy, url, bucket, fileOf, keys, direct, upload, bytesOf };
}

async function ask(server: { url: string }, body: object, path = '/v1/artifacts/direct') {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: answer.status, ...((await answer.json()) as DirectUploadReply & { code?: string }) };
}

const send = (put: DirectPut, body: Uint8Array, more: Record<string, string> = {}) =>
  fetch(put.url, { method: 'PUT', headers: { ...put.headers, ...more }, body });

/** What the server counts of uploads that came through it. */
async function through(server: { url: string }): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^jq_uploads_total\{end="stored"\} (\d+)/m.exec(text)?.[1]);
}

describe('an upload that does not go through the server', requiresS3(), () => {
  test('is an artifact like any other, of a client and of a task; equal bytes are not sent again', async (t) => {
    const { server, keys, direct, upload, bytesOf, fileOf } = await serve(t);
    const bytes = randomBytes(3 * MIB);
    const [one, two] = [await upload(bytes), await upload(bytes)];
    assert.deepEqual(
      { ...one, artifact_id: '' },
      { artifact_id: '', sha256: sha256(bytes), size_bytes: 3 * MIB },
    );
    assert.notEqual(one.artifact_id, two.artifact_id);
    assert.deepEqual([direct(), await through(server), await keys()], [1, 0, [objectPath(sha256(bytes))]]);
    assert.deepEqual(await bytesOf(two.artifact_id), bytes);
    const head = await server.client.artifactHeaders(one.artifact_id);
    assert.match(String(head['content-disposition']), /ein Modell\.bin/);

    const hand = await Hand.register(server.client);
    const { id } = await submit(server.client);
    const task = await hand.run();
    const model = randomBytes(2 * MIB);
    const holder = { worker_id: hand.id, attempt: task.attempt };
    const { artifact_id } = await server.client.upload('uploadTaskArtifact', {
      ...{ params: { id: task.task_id }, query: { role: 'model', kind: 'model', ...holder } },
      ...{ file: await fileOf(model), filename: 'best_model.bin' },
    });
    await hand.complete(task, { metrics: { best_rmse: 0.5 }, artifacts: { model: artifact_id } as never });
    const listed = await server.client.call('listJobArtifacts', { params: { id } });
    assert.deepEqual(
      listed.map(({ role, kind, filename, size_bytes }) => [role, kind, filename, size_bytes]),
      ['model', 'best_model'].map((role) => [role, 'model', 'best_model.bin', 2 * MIB]),
    );
    assert.deepEqual([await bytesOf(artifact_id), await through(server)], [model, 0]);
  });

  test('goes by an address that takes those bytes alone, at their place', async (t) => {
    const { server, keys } = await serve(t);
    const bytes = randomBytes(5000);
    const said = { sha256: sha256(bytes), size_bytes: bytes.length };
    const { status, artifact, put } = await ask(server, said);
    assert.ok(put);
    assert.deepEqual([status, artifact, await keys()], [200, null, []], 'nothing is left of the trial');
    const other = randomBytes(5000);
    const checksum = createHash('sha256').update(other).digest('base64');
    for (const [what, answer] of [
      ['others', send(put, other)],
      ['others with their own checksum', send(put, other, { 'x-amz-checksum-sha256': checksum })],
      ['fewer', send(put, bytes.subarray(1))],
      ['another name', send({ ...put, url: put.url.replace(said.sha256, sha256(other)) }, bytes)],
      ['another word of what they are', send(put, bytes, { 'x-amz-meta-sha256': sha256(other) })],
    ] as const)
      assert.ok([400, 403].includes((await answer).status), what);
    assert.deepEqual([await keys(), (await ask(server, said)).artifact], [[], null]);
    assert.equal((await fetch(put.url)).status, 403, 'it gives nothing');
    assert.equal((await send(put, bytes)).status, 200);
    assert.equal((await ask(server, { ...said, size_bytes: 4999 })).artifact, null);
    const recorded = await ask(server, said);
    assert.deepEqual([recorded.put, recorded.artifact?.sha256], [null, said.sha256]);
  });

  test('is given as the bytes that it is, whatever else the service was told of them', async (t) => {
    const { server } = await serve(t);
    const bytes = randomBytes(5000);
    const said = { sha256: sha256(bytes), size_bytes: bytes.length };
    const { put } = await ask(server, said);
    assert.equal((await send(put as DirectPut, bytes, { 'content-encoding': 'gzip' })).status, 200);
    const { artifact } = await ask(server, said);
    const path = `${server.url}/v1/artifacts/${artifact?.artifact_id}`;
    const sent = await fetch(path, { redirect: 'manual', headers: { prefer: 'redirect' } });
    // As browsers do, it would unpack what is said to be packed.
    const given = await fetch(sent.headers.get('location') as string);
    assert.deepEqual(Buffer.from(await given.arrayBuffer()), bytes);
  });

  test('has the limits that others have, and the rights', async (t) => {
    const { server, keys } = await serve(t, { maxArtifactBytes: 10_000, token: 'secret' });
    const said = { sha256: sha256(Buffer.from('x')), size_bytes: 10_001 };
    const call = (body: typeof said) => server.client.call('uploadArtifactDirectly', { body });
    await assert.rejects(call(said), { status: 413, code: 'artifact_too_large' });
    await assert.rejects(call({ ...said, sha256: 'x' }), { status: 422 });
    assert.equal((await ask(server, said)).status, 401);
    const unknown = { params: { id: 'task_unknown' }, body: { ...said, size_bytes: 1 } };
    await assert.rejects(server.client.call('uploadTaskArtifactDirectly', unknown), { code: 'unknown_id' });
    const large = await call({ ...said, size_bytes: 10_000 });
    assert.ok(large.put);
    assert.deepEqual(await keys(), []);
  });

  test('comes through the server where the object store does not take it, is out of reach, or says nothing of it', async (t) => {
    const fates: Fault[] = [
      'cut',
      { status: 403, code: 'AccessDenied' },
      { cutRequestAfter: 500_000 },
      'lose answer',
    ];
    for (const fate of fates) {
      const { server, proxy, direct, upload, bytesOf, keys } = await serve(t);
      await ask(server, { sha256: sha256(Buffer.from('tried')), size_bytes: 5 });
      proxy.fault = (asked) => (isDirect(asked) ? fate : undefined);
      const bytes = randomBytes(2 * MIB);
      const { artifact_id } = await upload(bytes);
      assert.deepEqual(await bytesOf(artifact_id), bytes);
      assert.deepEqual([direct(), await through(server), (await keys()).length], [1, 1, 1]);
      proxy.fault = () => undefined;
      await upload(randomBytes(2 * MIB));
      assert.deepEqual([direct(), await through(server)], [1, 2], 'for a while nobody tries again');
      await upload(randomBytes(2 * MIB), server.clientWith(undefined));
      assert.equal(direct(), 2, 'somebody else does');
    }
  });

  test('comes through the server where it is small, or the server was not told so', async (t) => {
    const { direct, upload, server } = await serve(t);
    await upload(randomBytes(MIB - 1));
    assert.deepEqual([direct(), await through(server)], [0, 1]);
    const plain = await serve(t, { presign: false });
    const said = { sha256: sha256(Buffer.from('x')), size_bytes: 1 };
    assert.deepEqual(await ask(plain.server, said), { status: 200, artifact: null, put: null });
    await plain.upload(randomBytes(2 * MIB));
    assert.deepEqual([plain.direct(), await through(plain.server)], [0, 1]);
  });

  test('comes through the server where the object store takes bytes of another SHA-256 than was signed', async (t) => {
    const { server, upload, keys, bytesOf, direct } = await serve(t, {}, moto);
    const bytes = randomBytes(2 * MIB);
    const { artifact_id } = await upload(bytes);
    assert.deepEqual(await bytesOf(artifact_id), bytes);
    assert.deepEqual([direct(), await through(server), (await keys()).length], [0, 1, 1]);
  });

  test('is recorded by another server than the one that said how', async (t) => {
    const state = await temporaryDirectory(t);
    const { server, url } = await serve(t, { state });
    const bytes = randomBytes(5000);
    const said = { sha256: sha256(bytes), size_bytes: bytes.length };
    const { put } = await ask(server, said);
    await server.stop();
    assert.equal((await send(put as DirectPut, bytes)).status, 200);
    const next = await startTestServer(t, { state, objects: s3Location(url), presign: true });
    const { artifact } = await ask(next, said);
    assert.deepEqual(await buffer((await next.client.download(artifact?.artifact_id as string)).body), bytes);
  });
});

describe('bytes that somebody brought past the server', requiresS3(), () => {
  async function begin(t: TestContext, now?: () => number) {
    const place = await s3Kind('', swift).make(t);
    const { bucket } = await newPrefix();
    const log = pino({ level: 'silent' });
    const driver = async (at = () => Date.now() / 1000) =>
      new S3Objects({ bucket, id: 's', isNew: true, presigns: true, log, now: now ?? at });
    const opened = await openBlobs(t, { ...place, driver });
    const paths = async () => {
      const keys: string[] = [];
      for await (const page of bucket.list('objects/')) keys.push(...page.map(({ key }) => key));
      return keys;
    };
    const brought = async (bytes: Buffer) => {
      const said = { sha256: sha256(bytes), size_bytes: bytes.length };
      assert.equal((await send((await opened.blobs.direct(said)) as DirectPut, bytes)).status, 200);
      return said;
    };
    return { ...opened, paths, brought };
  }

  test('go with the artifact that was refused, unless another one names them', async (t) => {
    const { blobs, brought, paths, named } = await begin(t);
    const said = await brought(randomBytes(1000));
    const [one, two] = [(await blobs.direct(said)) as PlacedBytes, (await blobs.direct(said)) as PlacedBytes];
    await one.release();
    assert.equal((await paths()).length, 1, 'the other may still be recorded');
    await two.release();
    assert.deepEqual(await paths(), []);
    const kept = await brought(randomBytes(1000));
    const placed = (await blobs.direct(kept)) as PlacedBytes;
    named.add(kept.sha256);
    await placed.release();
    await ((await blobs.direct(kept)) as PlacedBytes).release();
    assert.deepEqual(await paths(), [objectPath(kept.sha256)]);
  });

  test('are found as left over a day later where nobody asked again, and are removed', async (t) => {
    let days = 0;
    const { blobs, brought, paths } = await begin(t, () => Date.now() / 1000 + days * DAY);
    const { sha256: hash } = await brought(randomBytes(1000));
    const left = async () => {
      const found: string[] = [];
      for await (const page of blobs.leftovers()) found.push(...page);
      return found;
    };
    days = 0.9;
    assert.deepEqual(await left(), []);
    days = 1.1;
    assert.deepEqual(await left(), [hash]);
    await blobs.remove(await left());
    assert.deepEqual(await paths(), []);
  });
});
