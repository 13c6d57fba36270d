import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { DurableMoves } from '../../actors/server/blobs/durable.ts';
import { damagedPath, objectPath } from '../../actors/server/blobs/paths.ts';
import { startTestServer } from '../support/server.ts';
import { open } from './blob-support.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Bytes of several pieces, the last of them not whole. */
const LARGE = randomBytes(1_000_000);

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
    const stored = { id: 'art_1', ...(await put(Buffer.from('0123456789'))) };
    assert.equal((await buffer(blobs.read(stored, 2, 4))).toString(), '234');
    assert.equal((await buffer(blobs.read(stored, 9, 9))).toString(), '9');
    assert.deepEqual(await put(), { sha256: sha256(Buffer.alloc(0)), size_bytes: 0 });
  });

  test('leaves nothing of an upload that is aborted, also when it is aborted twice', async (t) => {
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

  test('removes at start-up what uploads left behind when an earlier server died', async (t) => {
    const { restarted, blobs, files, put } = await open(t);
    await put(Buffer.from('kept'));
    const dying = await blobs.create();
    await dying.write(Buffer.from('never finished'));
    t.after(() => dying.abort());
    await restarted().start();
    assert.deepEqual([(await files('uploads')).length, (await files('objects')).length], [0, 1]);
  });

  test('removes bytes whose record was refused, unless an artifact has the same', async (t) => {
    const { files, put, placed } = await open(t);
    const refused = await placed(Buffer.from('refused'));
    assert.equal((await files('objects')).length, 1);
    await refused.abort();
    assert.deepEqual([await files('uploads'), await files('objects')], [[], []]);

    await put(Buffer.from('named'));
    await (await placed(Buffer.from('named'))).abort();
    assert.deepEqual([(await files('uploads')).length, (await files('objects')).length], [0, 1]);
  });

  test('keeps bytes as long as one of the uploads of them may still be recorded', async (t) => {
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

  test('removes at start-up bytes that were in place when the server died before they were recorded', async (t) => {
    const { named, restarted, files, placed } = await open(t);
    await placed(Buffer.from('never named'));
    await placed(Buffer.from('named, but the server died before it could remove the mark'));
    assert.deepEqual([(await files('uploads')).length, (await files('objects')).length], [2, 2]);
    named.add(sha256(Buffer.from('named, but the server died before it could remove the mark')));
    await restarted().start();
    assert.deepEqual([(await files('uploads')).length, (await files('objects')).length], [0, 1]);
  });
});

describe('bytes that are damaged on the disk', () => {
  /** What a file on the disk may become; a store is none the wiser until it looks. */
  const fates = {
    'a flipped bit': async (path: string) => {
      const bytes = await readFile(path);
      bytes[500_000] = (bytes[500_000] as number) ^ 1;
      await writeFile(path, bytes);
    },
    'a flipped bit in the last byte': async (path: string) => {
      const bytes = await readFile(path);
      bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
      await writeFile(path, bytes);
    },
    'a lost end': (path: string) => truncate(path, 700_000),
    'a file of zeros': (path: string) => writeFile(path, Buffer.alloc(LARGE.length)),
    'a file that is gone': (path: string) => rm(path),
  };

  for (const [what, befall] of Object.entries(fates)) {
    test(`are never served as intact, count as lost from then on, and are repaired by an upload: ${what}`, async (t) => {
      const { root, blobs, files, put, lines } = await open(t);
      const stored = { id: 'art_1', ...(await put(LARGE)) };
      await befall(join(root, objectPath(stored.sha256)));
      let came = 0;
      const reading = async () => {
        for await (const chunk of blobs.read(stored, 0, LARGE.length - 1)) came += (chunk as Buffer).length;
      };
      await assert.rejects(reading(), {
        code: 'artifact_lost',
        message: /'art_1'.*uploading the same bytes/,
      });
      assert.ok(came < LARGE.length, 'the last byte is held back');
      await assert.rejects(blobs.assertWhole(stored), { code: 'artifact_lost' });
      assert.match(lines.join(''), new RegExp(stored.sha256));

      await put(LARGE);
      await blobs.assertWhole(stored);
      assert.deepEqual(await buffer(blobs.read(stored, 0, LARGE.length - 1)), LARGE);
      assert.equal((await files('objects')).length, 1, 'what was put aside is gone');
    });
  }

  test('are replaced by an upload of intact ones, also when the damage has not been noticed yet', async (t) => {
    const { root, put } = await open(t);
    const { sha256: hash } = await put(LARGE);
    const path = join(root, objectPath(hash));
    await writeFile(path, Buffer.alloc(LARGE.length));
    await put(LARGE);
    assert.deepEqual(await readFile(path), LARGE);
  });

  test('are found to be too short before anything is sent', async (t) => {
    const { root, blobs, put } = await open(t);
    const stored = { id: 'art_1', ...(await put(LARGE)) };
    await truncate(join(root, objectPath(stored.sha256)), 10);
    await assert.rejects(blobs.assertWhole(stored), { code: 'artifact_lost' });
    assert.ok(
      (await readFile(join(root, damagedPath(stored.sha256)))).length === 10,
      'kept for who looks into it',
    );
  });

  test('are not set aside when intact ones took their place while they were read', async (t) => {
    const { root, blobs, put } = await open(t);
    const stored = { id: 'art_1', ...(await put(LARGE)) };
    const path = join(root, objectPath(stored.sha256));
    await writeFile(path, Buffer.alloc(LARGE.length));
    const chunks = blobs.read(stored, 0, LARGE.length - 1)[Symbol.asyncIterator]();
    await chunks.next();
    await writeFile(`${path}.good`, LARGE);
    await rename(`${path}.good`, path);
    await assert.rejects(async () => {
      while (!(await chunks.next()).done);
    });
    await blobs.assertWhole(stored);
    assert.deepEqual(await readFile(path), LARGE);
  });
});

test('a durable move syncs the folders above the file as well, whoever made them, once in the life of a process', async (t) => {
  const { root } = await open(t);
  const synced: string[] = [];
  const moves = new DurableMoves(async (folder) => void synced.push(folder.slice(root.length)));
  const move = async (target: string) => {
    await writeFile(join(root, 'x'), '');
    await moves.move(join(root, 'x'), join(root, target), root);
    return synced.splice(0);
  };
  await mkdir(dirname(join(root, 'objects/aa/bb/1')), { recursive: true });
  assert.deepEqual(await move('objects/aa/bb/1'), ['/objects/aa/bb', '/objects/aa', '/objects', '']);
  assert.deepEqual(await move('objects/aa/bb/2'), ['/objects/aa/bb']);
  assert.deepEqual(await move('objects/aa/cc/1'), ['/objects/aa/cc', '/objects/aa', '/objects', '']);
});

describe('a state directory', () => {
  for (const [how, written] of [
    ['from here, as ./state', (path: string) => `./${relative('.', path)}`],
    ['with a slash at its end', (path: string) => `${path}/`],
    ['by a detour', (path: string) => `${path}/objects/../.`],
  ] as const) {
    test(`may be written ${how}: folders are synced up to it and no further, and uploads end`, async (t) => {
      const { root } = await open(t);
      const synced: string[] = [];
      const moves = new DurableMoves(async (folder) => {
        synced.push(resolve(folder));
        assert.ok(synced.length < 10, 'it ends');
      });
      const state = written(root);
      await mkdir(join(state, 'objects/aa/bb'), { recursive: true });
      await writeFile(join(state, 'x'), '');
      await moves.move(join(state, 'x'), join(state, 'objects/aa/bb/1'), state);
      assert.deepEqual(
        synced.map((folder) => relative(root, folder)),
        ['objects/aa/bb', 'objects/aa', 'objects', ''],
      );
      const server = await startTestServer(t, { state });
      const file = join(root, 'upload');
      await writeFile(file, 'bytes');
      const { artifact_id } = await server.client.upload('uploadArtifact', {
        query: {},
        file,
        filename: 'a',
      });
      assert.match(artifact_id, /^art_/);
    });
  }
});
