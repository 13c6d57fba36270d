import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import pino from 'pino';
import { type BlobOptions, BlobStore } from '../../actors/server/blobs/blob-store.ts';
import { DiskSpace } from '../../actors/server/blobs/disk-space.ts';
import { DurableMoves } from '../../actors/server/blobs/durable.ts';
import { damagedPath, objectPath } from '../../actors/server/blobs/paths.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function open(t: TestContext, maxBytes = 1024 * 1024, disk: Partial<BlobOptions> = {}) {
  const root = await temporaryDirectory(t);
  /** The hashes that artifacts name. */
  const named = new Set<string>();
  const isNamed = async (hash: string) => named.has(hash);
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const options = { stateDir: root, maxBytes, reserveBytes: 0, log, isNamed, ...disk };
  const restarted = () => new BlobStore(options);
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
  return { root, blobs, named, restarted, files, put, placed, lines };
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
    const stored = { id: 'art_1', ...(await put(Buffer.from('0123456789'))) };
    assert.equal((await buffer(blobs.read(stored, 2, 4))).toString(), '234');
    assert.equal((await buffer(blobs.read(stored, 9, 9))).toString(), '9');
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

/** Bytes of several pieces, the last of them not whole. */
const LARGE = randomBytes(1_000_000);

describe('bytes that do not stay what they were', () => {
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
    test(`are given to nobody as whole, are lost from then on, and are mended by an upload: ${what}`, async (t) => {
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

  test('are replaced by good ones when these are uploaded again, although nobody has noticed yet', async (t) => {
    const { root, put } = await open(t);
    const { sha256: hash } = await put(LARGE);
    const path = join(root, objectPath(hash));
    await writeFile(path, Buffer.alloc(LARGE.length));
    await put(LARGE);
    assert.deepEqual(await readFile(path), LARGE);
  });

  test('are found too short before anything is sent', async (t) => {
    const { root, blobs, put } = await open(t);
    const stored = { id: 'art_1', ...(await put(LARGE)) };
    await truncate(join(root, objectPath(stored.sha256)), 10);
    await assert.rejects(blobs.assertWhole(stored), { code: 'artifact_lost' });
    assert.ok(
      (await readFile(join(root, damagedPath(stored.sha256)))).length === 10,
      'kept for who looks into it',
    );
  });

  test('are not put aside when good ones took their place while they were read', async (t) => {
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

describe('the room for artifacts', () => {
  const MIB = 1024 * 1024;

  /** A disk of so many bytes, of which a store takes what it writes and others take `used`. */
  async function disk(t: TestContext, size: number, reserveBytes: number) {
    const others = { used: 0, looks: 0 };
    const opened = await open(t, 1024 * MIB, {
      reserveBytes,
      free: async () => {
        others.looks++;
        // Where uploads come from before where they go to, and by inode: one that moves meanwhile counts, and once.
        const written = new Map<number, number>();
        for (const folder of ['uploads', '.']) {
          for (const { parentPath, name } of await opened.files(folder)) {
            const entry = await stat(join(parentPath, name)).catch(() => null);
            if (entry) written.set(entry.ino, entry.size);
          }
        }
        return size - [...written.values()].reduce((sum, bytes) => sum + bytes, 0) - others.used;
      },
    });
    return { ...opened, others };
  }

  /** Uploads so many bytes in small pieces; the code of a refusal, if there is one. */
  async function upload({ blobs }: Awaited<ReturnType<typeof disk>>, bytes: number, expected = 0) {
    let writer: Awaited<ReturnType<BlobStore['create']>> | undefined;
    try {
      writer = await blobs.create(expected);
      const piece = randomBytes(64 * 1024);
      for (let done = 0; done < bytes; done += piece.length) await writer.write(piece);
      await writer.finish();
      await writer.keep();
      return 'kept';
    } catch (fault) {
      await writer?.abort();
      return (fault as { code: string }).code;
    }
  }

  test('ends where the reserve begins, whether the length was declared or not', async (t) => {
    for (const declared of [true, false]) {
      const it = await disk(t, 3 * MIB, MIB);
      const send = (bytes: number) => upload(it, bytes, declared ? bytes : 0);
      assert.equal(await send(1.5 * MIB), 'kept');
      assert.equal(await send(MIB), 'no_room');
      assert.deepEqual(await it.files('uploads'), []);
      assert.equal(await send(MIB / 4), 'kept');
    }
  });

  test('is counted for uploads at the same time together', async (t) => {
    for (const declared of [true, false]) {
      const it = await disk(t, 4 * MIB, MIB);
      const all = await Promise.all([1, 2, 3].map(() => upload(it, 1.25 * MIB, declared ? 1.25 * MIB : 0)));
      assert.ok(all.filter((end) => end === 'kept').length <= 2, all.join());
      assert.ok(all.includes('no_room'));
      assert.equal(await upload(it, MIB / 4), 'kept', 'what was promised to the refused is given back');
    }
  });

  test('is not given twice for bytes that are granted and written while the disk is looked at', async () => {
    const looks: Array<(free: number) => void> = [];
    const room = new DiskSpace(0, () => new Promise((resolve) => looks.push(resolve)));
    const first = room.reserve(4 * MIB);
    looks.shift()?.(10 * MIB);
    const upload = await first;
    const second = room.reserve(4 * MIB);
    // The disk was looked at before any of this, and is slow to tell.
    upload.wrote(4 * MIB);
    const more = upload.need(4 * MIB);
    looks.pop()?.(6 * MIB);
    await more;
    upload.wrote(4 * MIB);
    looks.shift()?.(10 * MIB);
    await assert.rejects(second, { code: 'no_room' });
  });

  test('is none when others have taken it, before an upload and in its middle', async (t) => {
    const it = await disk(t, 64 * MIB, MIB);
    const writer = await it.blobs.create(40 * MIB);
    it.others.used = 60 * MIB;
    const piece = randomBytes(MIB);
    await assert.rejects(
      async () => {
        for (let i = 0; i < 40; i++) await writer.write(piece);
      },
      { code: 'no_room' },
    );
    await writer.abort();
    it.others.used = 63.5 * MIB;
    await assert.rejects(it.blobs.create(), { code: 'no_room', message: /1 MiB .*--reserve-mb/ });
  });

  test('is asked for seldom, however small the pieces are', async (t) => {
    const it = await disk(t, 1024 * MIB, MIB);
    assert.equal(await upload(it, 40 * MIB), 'kept');
    assert.ok(it.others.looks < 10, `${it.others.looks} looks at the disk for 640 pieces`);
  });
});

test('a move syncs the folders above as well, whoever made them, once in the life of a process', async (t) => {
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
