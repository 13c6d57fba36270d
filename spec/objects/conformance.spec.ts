// What holds wherever objects lie: every driver passes it.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { whyLost } from '../../actors/server/check/objects.ts';
import { openBlobs } from '../store/blob-support.ts';
import { sha256 } from '../support/sha256.ts';
import { kinds } from './places.ts';

const pathOf = (bytes: Uint8Array) => objectPath(sha256(bytes));

/** Bytes of several pieces, the last of them not whole. */
const LARGE = randomBytes(1_000_000);
/** More than a service takes in one part, or a part that is not whole. */
const IN_PARTS = randomBytes(17_000_000);
const DAY = 86_400;
const later = (days: number) => () => Date.now() / 1000 + days * DAY;

for (const { name, needs, make } of kinds()) {
  const begin = async (t: TestContext, options: Parameters<typeof openBlobs>[2] = {}) => {
    const place = await make(t);
    return { place, ...(await openBlobs(t, place, options)) };
  };

  describe(`objects in ${name}`, needs, () => {
    test('lie under their SHA-256, whatever chunks they came in', async (t) => {
      const { place, blobs, named, uploads } = await begin(t);
      const bytes = randomBytes(300_000);
      const writer = await blobs.create();
      for (const [from, to] of [
        [0, 7],
        [7, 200_000],
        [200_000, 300_000],
      ] as const)
        await writer.write(bytes.subarray(from, to));
      const stored = await writer.finish();
      assert.deepEqual(stored, { sha256: sha256(bytes), size_bytes: bytes.length });
      named.add(stored.sha256);
      await writer.keep();
      assert.deepEqual(await place.bytes(pathOf(bytes)), bytes);
      assert.deepEqual([await place.paths(), await uploads()], [[pathOf(bytes)], []]);
    });

    test('come back whole, also those that are many parts, and every range of them', async (t) => {
      const { place, blobs, put } = await begin(t);
      const stored = { id: 'art_1', ...(await put(IN_PARTS)) };
      assert.deepEqual(await place.paths(), [pathOf(IN_PARTS)]);
      assert.deepEqual(await buffer(blobs.read(stored, 0, IN_PARTS.length - 1)), IN_PARTS);
      const part = 8 * 1024 * 1024;
      for (const [from, to] of [
        [0, 0],
        [2, 4],
        [part - 3, part + 3],
        [IN_PARTS.length - 1, IN_PARTS.length - 1],
      ] as const)
        assert.deepEqual(await buffer(blobs.read(stored, from, to)), IN_PARTS.subarray(from, to + 1));
    });

    test('may have no bytes at all', async (t) => {
      const { blobs, put } = await begin(t);
      const stored = await put(Buffer.alloc(0));
      assert.deepEqual(stored, { sha256: sha256(Buffer.alloc(0)), size_bytes: 0 });
      await blobs.assertWhole({ id: 'art_1', ...stored });
    });

    test('are kept once where they are equal, uploaded one after the other or at once, by two servers', async (t) => {
      const { place, blobs, opened, put } = await begin(t);
      const [bytes, other] = [Buffer.from('the same'), await opened()];
      assert.deepEqual(await put(bytes), await put(bytes));
      await Promise.all([put(LARGE), put(LARGE, other), put(LARGE), put(LARGE, other), put(bytes, other)]);
      assert.deepEqual((await place.paths()).sort(), [pathOf(bytes), pathOf(LARGE)].sort());
      const stored = { id: 'art_1', sha256: sha256(LARGE), size_bytes: LARGE.length };
      assert.deepEqual(await buffer(blobs.read(stored, 0, LARGE.length - 1)), LARGE);
    });

    test('that are few bytes are placed at once, and once', async (t) => {
      const { place, blobs, named } = await begin(t);
      const bytes = Buffer.from('a line of a log');
      const [one, two] = [await blobs.place(bytes), await blobs.place(bytes)];
      assert.deepEqual([one.sha256, one.size_bytes], [sha256(bytes), bytes.length]);
      await one.release();
      assert.deepEqual(await place.paths(), [pathOf(bytes)], 'the other may still be recorded');
      await two.release();
      assert.deepEqual(await place.paths(), []);
      const third = await blobs.place(bytes);
      named.add(third.sha256);
      await third.release();
      assert.deepEqual(await place.bytes(pathOf(bytes)), bytes);
    });

    test('leave nothing where their upload is aborted, also when it is aborted twice', async (t) => {
      const { place, blobs, uploads } = await begin(t);
      const writer = await blobs.create();
      await writer.write(LARGE);
      await writer.abort();
      await writer.abort();
      assert.deepEqual([await uploads(), await place.paths()], [[], []]);
    });

    test('are refused where they are larger than they may be', async (t) => {
      const { blobs, put, place } = await begin(t, { maxBytes: 10 });
      assert.equal((await put(Buffer.alloc(10))).size_bytes, 10);
      const writer = await blobs.create();
      await writer.write(Buffer.alloc(10));
      await assert.rejects(writer.write(Buffer.alloc(1)), { code: 'artifact_too_large' });
      await writer.abort();
      assert.equal((await place.paths()).length, 1);
    });

    test('go with the artifact that was refused, unless another one names them', async (t) => {
      const { place, put, placed } = await begin(t);
      const refused = await placed(Buffer.from('refused'));
      assert.equal((await place.paths()).length, 1);
      await refused.abort();
      assert.deepEqual(await place.paths(), []);
      await put(Buffer.from('named'));
      await (await placed(Buffer.from('named'))).abort();
      assert.deepEqual(await place.paths(), [pathOf(Buffer.from('named'))]);
    });

    test('stay as long as one of the uploads of them may still be recorded', async (t) => {
      const { place, named, placed } = await begin(t);
      const bytes = Buffer.from('uploaded three times');
      const [one, two, three] = [await placed(bytes), await placed(bytes), await placed(bytes)];
      await one.abort();
      assert.equal((await place.paths()).length, 1);
      named.add(sha256(bytes));
      await two.keep();
      await three.abort();
      assert.deepEqual(await place.paths(), [pathOf(bytes)]);
    });

    test('of a server that died before they were recorded are removed by the next, and those that were recorded are not', async (t) => {
      let now = later(0);
      const { place, named, opened, put, placed, blobs, uploads } = await begin(t, { now: () => now() });
      await put(Buffer.from('kept'));
      await placed(Buffer.from('never named'));
      await placed(Buffer.from('named, but the server died before it could say so'));
      named.add(sha256(Buffer.from('named, but the server died before it could say so')));
      const dying = await blobs.create();
      await dying.write(Buffer.from('never finished'));
      t.after(() => dying.abort());
      now = later(2);
      const next = await opened();
      for await (const hashes of next.leftovers()) await next.remove(hashes);
      assert.deepEqual((await place.paths()).sort(), [...named].map(objectPath).sort());
      assert.deepEqual(await uploads(), []);
    });

    test('are removed when they are named no more, but not those that an artifact or an upload has', async (t) => {
      const { place, blobs, named, put, placed } = await begin(t);
      const all = ['gone', 'named', 'claimed', 'gone as well'].map((text) => Buffer.from(text));
      const [gone, kept, claimed, another] = all as [Buffer, Buffer, Buffer, Buffer];
      for (const bytes of [gone, kept, another]) await put(bytes);
      await placed(claimed);
      for (const bytes of [gone, another]) named.delete(sha256(bytes));
      const removed = await blobs.remove([...all.map(sha256), sha256(Buffer.from('never there'))]);
      assert.deepEqual(removed, {
        objects: 2,
        bytes: gone.length + another.length,
        claimed: [sha256(claimed)],
      });
      assert.deepEqual((await place.paths()).sort(), [pathOf(kept), pathOf(claimed)].sort());
    });

    test('are told by a check: whole, missing, too short, with other bytes; and what nobody put there', async (t) => {
      const { place, put } = await begin(t);
      const all = ['whole', 'missing', 'short', 'other'].map((text) => Buffer.from(text.padEnd(100)));
      for (const bytes of all) await put(bytes);
      const [whole, missing, short, other] = all as [Buffer, Buffer, Buffer, Buffer];
      await place.remove(pathOf(missing));
      await place.write(pathOf(short), short.subarray(0, 10));
      await place.write(pathOf(other), Buffer.alloc(100));
      await place.write('objects/stray', Buffer.from('?'));
      const driver = await place.driver(later(2));
      const why = (bytes: Buffer) => whyLost(driver, { sha256: sha256(bytes), size_bytes: bytes.length });
      assert.equal(await why(whole), null);
      assert.equal(await why(missing), 'missing');
      assert.equal(await why(short), 'damaged: 10 bytes instead of 100');
      assert.equal(await why(other), 'damaged: its bytes have another hash');
      const listed: (string | null)[] = [];
      for await (const { sha256 } of driver.list()) listed.push(sha256);
      assert.deepEqual(listed.sort(), [...[whole, short, other].map(sha256), null].sort());
    });
  });

  describe(`bytes that are damaged in ${name}`, needs, () => {
    /** What may become of bytes; a store does not know of it until it looks. */
    const fates: Record<string, (bytes: Buffer) => Buffer | null> = {
      'a flipped bit': (bytes) => flipped(bytes, 500_000),
      'a flipped bit in the last byte': (bytes) => flipped(bytes, bytes.length - 1),
      'a lost end': (bytes) => bytes.subarray(0, 700_000),
      zeros: (bytes) => Buffer.alloc(bytes.length),
      'nothing at all': () => null,
    };
    const befall = async (
      place: Awaited<ReturnType<typeof make>>,
      fate: (bytes: Buffer) => Buffer | null,
    ) => {
      const left = fate(LARGE);
      if (left) await place.write(pathOf(LARGE), left);
      else await place.remove(pathOf(LARGE));
    };

    for (const [what, fate] of Object.entries(fates)) {
      test(`are never served as intact, count as lost from then on, and are mended by an upload: ${what}`, async (t) => {
        const { place, blobs, put, lines } = await begin(t);
        const stored = { id: 'art_1', ...(await put(LARGE)) };
        await befall(place, fate);
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
        assert.deepEqual(await place.paths(), [pathOf(LARGE)], 'what was put aside is gone');
      });
    }

    test('are replaced by an upload of intact ones, also when the damage has not been noticed yet', async (t) => {
      const { place, put } = await begin(t);
      for (const bytes of [LARGE, Buffer.from('few bytes')]) {
        await put(bytes);
        await place.write(pathOf(bytes), Buffer.alloc(bytes.length));
        await put(bytes);
        assert.deepEqual(await place.bytes(pathOf(bytes)), bytes);
      }
    });

    test('are found to be too short before anything is sent, and put aside for who looks into it', async (t) => {
      const { place, blobs, put } = await begin(t);
      const stored = { id: 'art_1', ...(await put(LARGE)) };
      await place.write(pathOf(LARGE), LARGE.subarray(0, 10));
      await assert.rejects(blobs.assertWhole(stored), { code: 'artifact_lost' });
      assert.equal((await place.bytes(`${pathOf(LARGE)}.damaged`)).length, 10);
    });

    test('are not put aside when intact ones took their place while they were read', async (t) => {
      const { place, blobs, put } = await begin(t);
      const stored = { id: 'art_1', ...(await put(LARGE)) };
      await place.write(pathOf(LARGE), Buffer.alloc(LARGE.length));
      const chunks = blobs.read(stored, 0, LARGE.length - 1)[Symbol.asyncIterator]();
      await chunks.next();
      await put(LARGE);
      await assert.rejects(async () => {
        while (!(await chunks.next()).done);
      });
      await blobs.assertWhole(stored);
      assert.deepEqual(await place.bytes(pathOf(LARGE)), LARGE);
    });
  });
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] as number) ^ 1;
  return copy;
}
