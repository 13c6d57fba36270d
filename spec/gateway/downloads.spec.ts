import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { ClusterClient } from '../../gateway/client/client.ts';
import { FakeBackend } from '../support/fake-backend.ts';
import { until } from '../support/until.ts';
import { ask, gatewayFor, RawConnection, recordingLog } from './support.ts';

const CONTENT = Buffer.from('0123456789');
const ETAG = `"${createHash('sha256').update(CONTENT).digest('hex')}"`;

async function get(
  headers: Record<string, string> = {},
  { content = CONTENT, filename = null as string | null, method = 'GET' } = {},
) {
  const cluster = new FakeBackend();
  cluster.addArtifact('art_1', content, filename);
  await using gateway = await gatewayFor({}, cluster);
  return await ask(gateway.port, { line: `${method} /v1/artifacts/art_1`, headers });
}

describe('a download', () => {
  it('gives the bytes, with headers that keep browsers from showing them as a page', async () => {
    const { status, headers, body } = await get();
    assert.deepEqual([status, body], [200, '0123456789']);
    assert.equal(headers.get('content-type'), 'application/octet-stream');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('etag'), ETAG);
    assert.equal(headers.get('accept-ranges'), 'bytes');
    assert.equal(headers.get('content-length'), '10');
  });

  for (const [filename, expected] of [
    [null, 'attachment; filename="art_1"'],
    ['model.bin', 'attachment; filename="model.bin"'],
    ['naïve €.txt', `attachment; filename="na_ve _.txt"; filename*=UTF-8''na%C3%AFve%20%E2%82%AC.txt`],
    ['a"b\\c%41.txt', `attachment; filename="a_b_c_41.txt"; filename*=UTF-8''a%22b%5Cc%2541.txt`],
    [
      'a\r\nSet-Cookie: x',
      `attachment; filename="a__Set-Cookie: x"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x`,
    ],
    ["it's (1)*", `attachment; filename="it's (1)*"`],
  ] as const) {
    it(`is named safely: ${JSON.stringify(filename)}`, async () => {
      const { headers } = await get({}, { filename });
      assert.equal(headers.get('content-disposition'), expected);
      assert.equal(headers.has('set-cookie'), false);
    });
  }

  it('of nothing is empty', async () => {
    const { status, headers } = await get({}, { content: Buffer.alloc(0) });
    assert.deepEqual([status, headers.get('content-length')], [200, '0']);
  });

  it('answers HEAD with the length alone, whatever range is asked for', async () => {
    const { status, headers } = await get({ Range: 'bytes=0-1' }, { method: 'HEAD' });
    assert.deepEqual([status, headers.get('content-length'), headers.get('etag')], [200, '10', ETAG]);
  });

  for (const tag of [ETAG, `W/${ETAG}`, `"x", ${ETAG}`, '*']) {
    it(`gets 304 when the client has it: If-None-Match ${tag.slice(0, 12)}…`, async () => {
      const { status, headers, body } = await get({ 'If-None-Match': tag });
      assert.deepEqual([status, headers.get('etag'), body], [304, ETAG, '']);
    });
  }

  it('comes in full to a client that has other content', async () => {
    assert.equal((await get({ 'If-None-Match': '"x"' })).status, 200);
  });
});

describe('a range', () => {
  for (const [range, body, told] of [
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=9-9', '9', 'bytes 9-9/10'],
    ['bytes=4-', '456789', 'bytes 4-9/10'],
    ['bytes=4-99', '456789', 'bytes 4-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-99', '0123456789', 'bytes 0-9/10'],
    ['BYTES = 1 - 2', '12', 'bytes 1-2/10'],
    ['bytes=4-9007199254740993', '456789', 'bytes 4-9/10'],
    ['bytes=0000000000000000004-000000000000000000005', '45', 'bytes 4-5/10'],
    [`bytes=7-${'9'.repeat(200)}`, '789', 'bytes 7-9/10'],
    [`bytes=-${'9'.repeat(200)}`, '0123456789', 'bytes 0-9/10'],
  ] as const) {
    it(`gets 206 with its bytes: ${range}`, async () => {
      const answer = await get({ Range: range });
      assert.deepEqual([answer.status, answer.body, answer.headers.get('content-range')], [206, body, told]);
      assert.equal(answer.headers.get('content-length'), String(body.length));
    });
  }

  for (const range of [
    'bytes=10-',
    'bytes=10-20',
    'bytes=-0',
    'bytes=-00000000000000000000',
    'bytes=9007199254740993-',
    'bytes=9007199254740993-9007199254740993',
    `bytes=${'9'.repeat(200)}-`,
  ]) {
    it(`outside the content gets 416: ${range}`, async () => {
      const { status, headers, body } = await get({ Range: range });
      assert.deepEqual([status, headers.get('content-range')], [416, 'bytes */10']);
      assert.equal(JSON.parse(body).code, 'range_not_satisfiable');
    });
  }

  it('of an empty content gets 416', async () => {
    const { status, headers } = await get({ Range: 'bytes=0-' }, { content: Buffer.alloc(0) });
    assert.deepEqual([status, headers.get('content-range')], [416, 'bytes */0']);
  });

  for (const range of [
    'bytes=0-1,3-4',
    'bytes=5-2',
    'bytes=9007199254740993-9007199254740992',
    'bytes=a-b',
    'bytes=-',
    'lines=0-1',
    '',
    'bytes=0x1-2',
  ]) {
    it(`that is several ranges, or not one, is ignored: '${range}'`, async () => {
      assert.deepEqual([(await get({ Range: range })).status], [200]);
    });
  }

  it('is used only while the content is the one that the client began with', async () => {
    const same = await get({ Range: 'bytes=0-1', 'If-Range': ETAG });
    const other = await get({ Range: 'bytes=0-1', 'If-Range': '"x"' });
    const date = await get({ Range: 'bytes=0-1', 'If-Range': 'Wed, 21 Oct 2015 07:28:00 GMT' });
    assert.deepEqual([same.status, other.status, date.status], [206, 200, 200]);
  });
});

describe('a large download', () => {
  const large = randomBytes(40 * 1024 * 1024);

  it('arrives whole, through the typed client', async () => {
    const cluster = new FakeBackend();
    cluster.addArtifact('art_1', large);
    await using gateway = await gatewayFor({}, cluster);
    const client = new ClusterClient({ server: gateway.url });
    const { body, headers } = await client.download('art_1');
    const hash = createHash('sha256');
    for await (const chunk of body) hash.update(chunk as Buffer);
    await client.close();
    assert.equal(`"${hash.digest('hex')}"`, headers.etag);
  });

  it('is read from the store no faster than the client takes it, and given up when the client goes', async () => {
    const cluster = new FakeBackend();
    cluster.addArtifact('art_1', large);
    let pulled = 0;
    cluster.blobs.read = () => {
      const reader = Readable.from(
        (function* () {
          for (let from = 0; from < large.length; from += 65536) {
            pulled += 65536;
            yield large.subarray(from, from + 65536);
          }
        })(),
        { objectMode: false, highWaterMark: 65536 },
      );
      cluster.blobs.readers.push(reader);
      return reader;
    };
    await using gateway = await gatewayFor({}, cluster);
    const connection = await RawConnection.open(gateway.port);
    connection.socket.pause();
    connection.head('GET /v1/artifacts/art_1');
    let last = -1;
    let same = 0;
    await until('the reading to stand still', () => {
      same = pulled > 0 && pulled === last ? same + 1 : 0;
      last = pulled;
      return same > 30;
    });
    assert.ok(pulled < large.length / 2, `${pulled} bytes were read ahead of a client that reads nothing`);
    connection.close();
    await until('the file to be closed', () => cluster.blobs.readers[0]?.destroyed === true);
  });

  it('is broken off, not ended, when the store fails in its middle', async () => {
    const cluster = new FakeBackend();
    const { lines, log } = recordingLog('error');
    cluster.addArtifact('art_1', large);
    cluster.blobs.read = () =>
      Readable.from(
        (async function* () {
          yield large.subarray(0, 1000);
          throw new Error('bad sector');
        })(),
      );
    await using gateway = await gatewayFor({ log }, cluster);
    const connection = await RawConnection.open(gateway.port);
    connection.head('GET /v1/artifacts/art_1');
    await until('the connection to break', () => connection.socket.closed);
    assert.ok(connection.received.length < large.length);
    assert.doesNotMatch(connection.received, /HTTP\/1.1 500/);
    assert.match(lines.join(), /bad sector/);
  });

  it('is broken off when the store has fewer bytes than it said', async () => {
    const cluster = new FakeBackend();
    cluster.addArtifact('art_1', large);
    cluster.blobs.read = () => Readable.from([large.subarray(0, 1000)]);
    await using gateway = await gatewayFor({}, cluster);
    const connection = await RawConnection.open(gateway.port);
    connection.head('GET /v1/artifacts/art_1');
    await until('the connection to break', () => connection.socket.closed);
  });

  it('that fails before its first byte gets 500, which does not show the error', async () => {
    const cluster = new FakeBackend();
    cluster.addArtifact('art_1', large);
    cluster.blobs.read = () => {
      const reader = new Readable({ read() {} });
      reader.destroy(new Error('ENOENT /secret/path'));
      return reader;
    };
    await using gateway = await gatewayFor({}, cluster);
    const { status, body } = await ask(gateway.port, { line: 'GET /v1/artifacts/art_1' });
    assert.deepEqual([status, JSON.parse(body).code], [500, 'internal']);
    assert.doesNotMatch(body, /secret/);
  });
});
