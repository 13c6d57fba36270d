import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { BlobStore, objectPath } from '../../actors/blobs.ts';
import { temporaryDirectory } from '../support/server.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function open(t: TestContext, maxBytes = 1024 * 1024) {
  const root = await temporaryDirectory(t);
  /** The hashes that artifacts name. */
  const named = new Set<string>();
  const isNamed = async (hash: string) => named.has(hash);
  const restarted = () => new BlobStore(root, maxBytes, isNamed);
  const blobs = restarted();
  await blobs.start();
  const files = async (folder: string) =>
    (await readdir(join(root, folder), { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
  const put = async (...chunks: Uint8Array[]) => {
    const writer = await blobs.create();
    for (const chunk of chunks) await writer.write(chunk);
    const stored = await writer.finish();
    named.add(stored.sha256);
    await writer.keep();
    return stored;
  };
  /** An upload whose bytes lie in their place, while no artifact names them yet. */
  const placed = async (bytes: Uint8Array) => {
    const writer = await blobs.create();
    await writer.write(bytes);
    await writer.finish();
    return writer;
  };
  return { root, blobs, named, restarted, files, put, placed };
}

describe('the blob store', () => {
  test('keeps bytes under their SHA-256, whatever chunks they came in', async (t) => {
    const { root, files, put } = await open(t);
    const bytes = randomBytes(300_000);
    const stored = await put(bytes.subarray(0, 7), bytes.subarray(7, 200_000), bytes.subarray(200_000));
    assert.deepEqual(stored, { sha256: sha256(bytes), size_bytes: bytes.length });
    assert.deepEqual(await readFile(join(root, objectPath(stored.sha256))), bytes);
    assert.deepEqual(await files('uploads'), []);
  });

  test('keeps equal bytes once', async (t) => {
    const { files, put } = await open(t);
    const bytes = Buffer.from('the same');
    assert.deepEqual(await put(bytes), await put(bytes));
    assert.equal((await files('objects')).length, 1);
    assert.deepEqual(await files('uploads'), []);
  });

  test('replaces an object that a crash left short', async (t) => {
    const { root, put } = await open(t);
    const bytes = Buffer.from('whole content');
    const path = join(root, objectPath((await put(bytes)).sha256));
    await writeFile(path, 'who');
    await put(bytes);
    assert.deepEqual(await readFile(path), bytes);
  });

  test('reads any range, both ends included, and the empty artifact', async (t) => {
    const { blobs, put } = await open(t);
    const { sha256: id } = await put(Buffer.from('0123456789'));
    assert.equal((await buffer(blobs.read(id, 2, 4))).toString(), '234');
    assert.equal((await buffer(blobs.read(id, 9, 9))).toString(), '9');
    assert.deepEqual(await put(), { sha256: sha256(Buffer.alloc(0)), size_bytes: 0 });
  });

  test('leaves nothing of an upload that is broken off, and may be told twice', async (t) => {
    const { blobs, files } = await open(t);
    const writer = await blobs.create();
    await writer.write(Buffer.from('half'));
    await writer.abort();
    await writer.abort();
    assert.deepEqual([await files('uploads'), await files('objects')], [[], []]);
  });

  test('refuses what is larger than it may be', async (t) => {
    const { blobs, put } = await open(t, 10);
    assert.equal((await put(Buffer.alloc(10))).size_bytes, 10);
    const writer = await blobs.create();
    await writer.write(Buffer.alloc(10));
    await assert.rejects(writer.write(Buffer.alloc(1)), { code: 'artifact_too_large' });
    await writer.abort();
  });

  test('clears away at start-up what uploads left when an earlier server died', async (t) => {
    const { restarted, blobs, files, put } = await open(t);
    await put(Buffer.from('kept'));
    const dying = await blobs.create();
    await dying.write(Buffer.from('never finished'));
    t.after(() => dying.abort());
    await restarted().start();
    assert.deepEqual([(await files('uploads')).length, (await files('objects')).length], [0, 1]);
  });

  test('removes bytes whose record was refused, unless an artifact names the same', async (t) => {
    const { files, put, placed } = await open(t);
    const refused = await placed(Buffer.from('refused'));
    assert.equal((await files('objects')).length, 1);
    await refused.abort();
    assert.deepEqual([await files('uploads'), await files('objects')], [[], []]);

    await put(Buffer.from('named'));
    await (await placed(Buffer.from('named'))).abort();
    assert.deepEqual([(await files('uploads')).length, (await files('objects')).length], [0, 1]);
  });

  test('keeps bytes as long as one of those who uploaded them may still have them named', async (t) => {
    const { named, files, placed } = await open(t);
    const bytes = Buffer.from('uploaded three times');
    const [one, two, three] = [await placed(bytes), await placed(bytes), await placed(bytes)];
    await one.abort();
    assert.equal((await files('objects')).length, 1);
    named.add(sha256(bytes));
    await two.keep();
    await three.abort();
    assert.deepEqual([(await files('uploads')).length, (await files('objects')).length], [0, 1]);
  });

  test('clears away at start-up bytes that lay in their place when the server died before they were named', async (t) => {
    const { named, restarted, files, placed } = await open(t);
    await placed(Buffer.from('never named'));
    await placed(Buffer.from('named, but the server died before it could remove the mark'));
    assert.deepEqual([(await files('uploads')).length, (await files('objects')).length], [2, 2]);
    named.add(sha256(Buffer.from('named, but the server died before it could remove the mark')));
    await restarted().start();
    assert.deepEqual([(await files('uploads')).length, (await files('objects')).length], [0, 1]);
  });
});
