import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import pino from 'pino';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { Bucket } from '../../actors/server/blobs/s3/bucket.ts';
import { S3Objects } from '../../actors/server/blobs/s3/s3-objects.ts';
import { openBlobs } from '../store/blob-support.ts';
import { sha256 } from '../support/sha256.ts';
import { until } from '../support/until.ts';
import { newPrefix, s3Kind, service } from './places.ts';
import { CREDENTIALS, requiresS3, startSwift } from './services.ts';

const SMALL = randomBytes(100_000);
const IN_PARTS = randomBytes(17_000_000);
const isTaken = (upload: Promise<unknown>) =>
  upload.then(
    () => true,
    () => false,
  );
const DAY = 86_400;
const now = () => Date.now() / 1000;
const log = pino({ level: 'silent' });

const swift = service(startSwift);

describe('a bucket that is hard to reach', requiresS3(), () => {
  async function begin(t: TestContext) {
    const proxy = await swift();
    const place = await s3Kind('', swift).make(t);
    const opened = { place, proxy, ...(await openBlobs(t, place)) };
    t.after(() => {
      proxy.fault = () => undefined;
    });
    const read = (bytes: Buffer) =>
      buffer(
        opened.blobs.read({ id: 'a', sha256: sha256(bytes), size_bytes: bytes.length }, 0, bytes.length - 1),
      );
    return { ...opened, read };
  }
  const isPut = (asked: string) => asked.startsWith('PUT ') && asked.includes('/objects/');
  const isGet = (asked: string) => asked.startsWith('GET ') && asked.includes('/objects/');

  test('gives what it has in pieces, as often as it is cut off', async (t) => {
    const { put, proxy, read } = await begin(t);
    await put(IN_PARTS);
    let cuts = 0;
    proxy.fault = (asked) => (isGet(asked) && ++cuts <= 4 ? { cutAfter: 1_234_567 * cuts } : undefined);
    assert.deepEqual(await read(IN_PARTS), IN_PARTS);
    assert.equal(cuts, 5, 'each time it went on');
  });

  test('is said to be away where it never gives the rest; the artifact is not lost', async (t) => {
    const { put, proxy, read, blobs } = await begin(t);
    const stored = { id: 'a', ...(await put(SMALL)) };
    proxy.fault = (asked) => (isGet(asked) ? { cutAfter: 0 } : undefined);
    await assert.rejects(read(SMALL), { code: 'objects_unavailable' });
    proxy.fault = () => undefined;
    await until('it to be asked again', () =>
      blobs.assertWhole(stored).then(
        () => true,
        () => false,
      ),
    );
    assert.deepEqual(await read(SMALL), SMALL);
  });

  test('takes what was cut off, refused for a while, or whose answer was lost, when it is sent again', async (t) => {
    const { put, proxy, read, place } = await begin(t);
    const fates = [
      { cutRequestAfter: 50_000 },
      { status: 503, code: 'SlowDown' },
      { status: 500, code: 'InternalError' },
      'lose answer',
    ] as const;
    for (const fate of fates) {
      for (const bytes of [randomBytes(100_000), randomBytes(9_000_000)]) {
        let once = false;
        proxy.fault = (asked) => {
          if (!isPut(asked) || once) return undefined;
          once = true;
          return fate;
        };
        await put(bytes);
        assert.ok(once);
        assert.deepEqual(await read(bytes), bytes);
        await place.remove(objectPath(sha256(bytes)));
      }
    }
  });

  test('leaves nothing of what could not be sent to its end, here or there', async (t) => {
    const { put, proxy, uploads, place } = await begin(t);
    let parts = 0;
    proxy.fault = (asked) => {
      if (!/partNumber=[^1]/.test(asked)) return undefined;
      parts++;
      return { status: 500, code: 'InternalError' };
    };
    await assert.rejects(put(IN_PARTS), { code: 'objects_unavailable' });
    assert.ok(parts > 0);
    assert.ok(proxy.seen.some((asked) => asked.startsWith('DELETE ') && asked.includes('uploadId=')));
    assert.deepEqual([await uploads(), await place.paths()], [[], []]);
  });

  test('is not believed where it says 200 to the end of an upload, and that it failed within the answer', async (t) => {
    const { put, proxy, read, uploads, place } = await begin(t);
    const isEnd = (asked: string) => asked.startsWith('POST ') && asked.includes('uploadId=');
    proxy.fault = (asked) => (isEnd(asked) ? { status: 200, code: 'InternalError' } : undefined);
    await assert.rejects(put(IN_PARTS), { code: 'objects_unavailable' });
    assert.ok(proxy.seen.some(isEnd));
    assert.deepEqual([await uploads(), await place.paths()], [[], []]);
    let ends = 0;
    proxy.fault = (asked) =>
      isEnd(asked) && ++ends === 1 ? { status: 200, code: 'InternalError' } : undefined;
    await until('it to be asked again', () => isTaken(put(IN_PARTS)));
    assert.deepEqual(await read(IN_PARTS), IN_PARTS);
  });

  test('that refuses the credentials in the middle of an upload takes it once they are good again', async (t) => {
    const { put, proxy, read } = await begin(t);
    let parts = 0;
    let isGood = false;
    proxy.fault = (asked) => {
      if (isGood || (asked.includes('partNumber=') && ++parts === 1) || asked.includes('?uploads'))
        return undefined;
      return { status: 403, code: 'ExpiredToken' };
    };
    await assert.rejects(put(IN_PARTS), { code: 'objects_unavailable' });
    isGood = true;
    await until('it to be asked again', () => isTaken(put(IN_PARTS)));
    assert.deepEqual(await read(IN_PARTS), IN_PARTS);
  });

  test('that is silent is not waited for without end', async (t) => {
    const proxy = await swift();
    const { bucket } = await newPrefix();
    const impatient = await Bucket.open(bucket.location, { socketTimeout: 300 });
    const objects = new S3Objects({ bucket: impatient, id: 's', isNew: true, log, now });
    await objects.start();
    proxy.fault = () => 'hang';
    await assert.rejects(objects.size(sha256(SMALL)), { code: 'objects_unavailable' });
    const began = proxy.seen.length;
    const moment = performance.now();
    t.mock.method(performance, 'now', () => moment);
    await assert.rejects(objects.size(sha256(SMALL)), { code: 'objects_unavailable' });
    assert.equal(proxy.seen.length, began, 'nobody asks it again at once');
  });

  test('is left alone for a moment after a fault, of which everybody is told meanwhile', async (t) => {
    const { put, proxy } = await begin(t);
    proxy.fault = (asked) => (isPut(asked) ? { status: 403, code: 'AccessDenied' } : undefined);
    const why = { code: 'objects_unavailable', message: /AccessDenied/ };
    await assert.rejects(put(SMALL), why);
    const asked = proxy.seen.length;
    const moment = performance.now();
    t.mock.method(performance, 'now', () => moment);
    await assert.rejects(put(IN_PARTS), why);
    assert.equal(proxy.seen.length, asked);
  });

  test('that knows no conditions has equal bytes once all the same, and damaged ones replaced', async (t) => {
    const { put, proxy, read, place } = await begin(t);
    let refused = 0;
    proxy.fault = (_, { headers }) => {
      if (!headers['if-none-match']) return undefined;
      refused++;
      return { status: 501, code: 'NotImplemented' };
    };
    for (const bytes of [SMALL, IN_PARTS]) {
      await put(bytes);
      const puts = proxy.seen.filter(isPut).length;
      await Promise.all([put(bytes), put(bytes)]);
      assert.equal(proxy.seen.filter(isPut).length, puts, 'what is there is not sent again');
      await place.write(objectPath(sha256(bytes)), Buffer.alloc(bytes.length));
      await put(bytes);
      assert.deepEqual(await read(bytes), bytes);
    }
    assert.ok(refused > 0);
    assert.equal((await place.paths()).length, 2);
  });
});

describe('the place of the objects of a store', requiresS3(), () => {
  test('belongs to one store: another one is refused, and its own starts there again', async () => {
    await swift();
    const { bucket } = await newPrefix();
    const of = (id: string, isNew: boolean) => new S3Objects({ bucket, id, isNew, log, now });
    await assert.rejects(of('one', false).start(), {
      code: 'objects_refused',
      message: /no objects of this store/,
    });
    await of('one', true).start();
    await of('one', false).start();
    for (const isNew of [true, false])
      await assert.rejects(of('two', isNew).start(), { code: 'objects_refused', message: /another store/ });
  });

  test('is taken by one of two that come at once', async () => {
    await swift();
    const { bucket } = await newPrefix();
    const starts = ['one', 'two', 'three'].map((id) =>
      new S3Objects({ bucket, id, isNew: true, log, now }).start(),
    );
    const ends = await Promise.allSettled(starts);
    assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  test('has nothing removed by a store to which it belongs no more', async (t) => {
    const { place, blobs, put, named } = await (async () => {
      await swift();
      const it = await s3Kind('', swift).make(t);
      return { place: it, ...(await openBlobs(t, it)) };
    })();
    const { sha256: hash } = await put(SMALL);
    await place.write('owner.json', Buffer.from('{"store":"another"}'));
    named.clear();
    await assert.rejects(blobs.remove([hash]), { code: 'objects_unavailable', message: /another store/ });
    assert.deepEqual(await place.paths(), [objectPath(hash)]);
  });

  test('is cleared of parts that were never put together, once nobody can be sending them', async () => {
    await swift();
    const { bucket } = await newPrefix();
    const { client, sdk, location } = bucket;
    let clock = now();
    const objects = new S3Objects({ bucket, id: 's', isNew: true, log, now: () => clock });
    await objects.start();
    const Key = location.prefix + objectPath(sha256(SMALL));
    await client.send(new sdk.CreateMultipartUploadCommand({ Bucket: location.bucket, Key }));
    const unfinished = async () =>
      (
        await client.send(
          new sdk.ListMultipartUploadsCommand({ Bucket: location.bucket, Prefix: location.prefix }),
        )
      ).Uploads?.length ?? 0;
    const look = async () => {
      for await (const _ of objects.leftovers());
    };
    await look();
    assert.equal(await unfinished(), 1);
    clock += 2 * DAY;
    await look();
    assert.equal(await unfinished(), 0);
  });

  for (const [what, environment, words] of [
    ['credentials that are wrong', { AWS_SECRET_ACCESS_KEY: 'wrong' }, /SignatureDoesNotMatch/],
    [
      'no credentials at all',
      { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' },
      /Could not load credentials/,
    ],
    ['a bucket that is not there', {}, /NoSuchBucket/],
  ] as const) {
    test(`says at the start what is wrong: ${what}`, async () => {
      await swift();
      const { bucket } = await newPrefix();
      const location =
        words.source === 'NoSuchBucket' ? { ...bucket.location, bucket: 'elsewhere' } : bucket.location;
      Object.assign(process.env, environment);
      try {
        const objects = new S3Objects({
          bucket: await Bucket.open(location),
          id: 's',
          isNew: true,
          log,
          now,
        });
        await assert.rejects(objects.start(), { code: 'objects_unusable', message: words });
      } finally {
        Object.assign(process.env, CREDENTIALS);
      }
    });
  }
});

test('a place in S3 is written with its bucket, and says what it takes where it is not', async () => {
  const { s3Location } = await import('../../actors/server/blobs/s3/location.ts');
  assert.deepEqual(s3Location('s3://lab/a//b/?path-style'), {
    ...{ bucket: 'lab', prefix: 'a/b/', pathStyle: true, url: 's3://lab/a/b?path-style' },
  });
  assert.deepEqual(s3Location('s3://lab'), { bucket: 'lab', prefix: '', pathStyle: false, url: 's3://lab' });
  for (const text of [
    '',
    '/folder',
    's3://',
    's3:///x',
    's3://b?region=x',
    's3://b/../c',
    'https://b/c',
    's3://b#x',
  ])
    assert.throws(() => s3Location(text), { code: 'bad_option' }, text);
});
