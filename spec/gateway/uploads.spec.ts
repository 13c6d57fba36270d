import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ClusterClient } from '../../gateway/client/client.ts';
import { ClusterError } from '../../machines/protocol/errors.ts';
import type { FakeBackend } from '../support/fake-backend.ts';
import { sha256 } from '../support/sha256.ts';
import { until } from '../support/until.ts';
import { ask, gatewayFor, multipart, RawConnection, type TestGateway } from './support.ts';

const LIMIT = 1000;
const FILE = 'name="file"; filename="model.bin"';
function recording(cluster: FakeBackend): void {
  cluster.onSend = (message) =>
    message.type === 'record_artifact'
      ? { artifact_id: 'art_1', sha256: message.sha256, size_bytes: message.size_bytes }
      : { ok: true };
}

interface Sent {
  parts: Parameters<typeof multipart>[0];
  line?: string;
  chunked?: boolean;
  cut?: number;
}

/** Uploads to a gateway of its own; `cut` leaves out the end of the body. */
async function upload({ parts, line = 'POST /v1/artifacts', chunked = false, cut = 0 }: Sent) {
  await using gateway = await gatewayFor({ maxArtifactBytes: LIMIT });
  recording(gateway.cluster);
  const { body, type } = multipart(parts);
  const bytes = body.subarray(0, body.length - cut);
  const answer = await ask(gateway.port, { line, headers: { 'Content-Type': type }, body: bytes, chunked });
  return { answer, reply: JSON.parse(answer.body), cluster: gateway.cluster };
}

function assertNothingLeft(cluster: FakeBackend): void {
  assert.equal(cluster.blobs.open, 0, 'no writer is left open');
  assert.equal(cluster.blobs.stored.size, 0, 'no blob is left');
  assert.equal(cluster.received('record_artifact').length, 0, 'nothing was recorded');
}

describe('an upload', () => {
  for (const chunked of [false, true]) {
    it(`is stored, hashed and recorded${chunked ? ', sent in chunks' : ''}`, async () => {
      const content = randomBytes(LIMIT);
      const { answer, reply, cluster } = await upload({ parts: [{ disposition: FILE, content }], chunked });
      assert.equal(answer.status, 200);
      assert.deepEqual(reply, { artifact_id: 'art_1', sha256: sha256(content), size_bytes: LIMIT });
      assert.deepEqual(cluster.blobs.stored.get(reply.sha256), content);
      const [recorded] = cluster.received('record_artifact');
      assert.deepEqual([recorded?.filename, recorded?.kind], ['model.bin', 'input']);
    });
  }

  it('may be empty', async () => {
    const { reply } = await upload({ parts: [{ disposition: FILE, content: '' }] });
    assert.deepEqual([reply.size_bytes, reply.sha256], [0, sha256(Buffer.alloc(0))]);
  });

  it('may have parts beside the file, which are ignored', async () => {
    const parts = [
      { disposition: 'name="note"', content: 'x'.repeat(5000) },
      { disposition: 'name="other"; filename="file"', content: 'not this', type: 'application/octet-stream' },
      { disposition: FILE, content: 'this' },
      { disposition: 'name="more"', content: 'y' },
    ];
    const { reply, cluster } = await upload({ parts });
    assert.equal(cluster.blobs.stored.get(reply.sha256)?.toString(), 'this');
    assert.equal(cluster.blobs.stored.size, 1);
  });

  it('of a task is recorded with its role, kind, worker and attempt', async () => {
    const line = 'POST /v1/tasks/task_1/artifacts?role=model&kind=joblib&worker_id=worker_1&attempt=2';
    const { cluster } = await upload({ line, parts: [{ disposition: FILE, content: 'm' }] });
    const [recorded] = cluster.received('record_artifact');
    assert.equal(recorded?.kind, 'joblib');
    assert.deepEqual(recorded?.task, { task_id: 'task_1', role: 'model', worker_id: 'worker_1', attempt: 2 });
  });

  for (const [disposition, expected] of [
    ['name="file"; filename="/etc/passwd"', 'passwd'],
    ['name="file"; filename="C:\\\\data\\\\été.csv"', 'été.csv'],
    ['name="file"; filename="naïve €.txt"', 'naïve €.txt'],
    [`name="file"; filename*=UTF-8''na%C3%AFve%20%E2%82%AC.txt`, 'naïve €.txt'],
    ['name="file"; filename="a\u0001\u007f\u202eb"', 'ab'],
    ['name="file"; filename=".."', null],
    ['name="file"; filename="a/"', null],
    ['name="file"; filename=""', null],
    ['name="file"', null],
    [`name="file"; filename="${'é'.repeat(200)}"`, 'é'.repeat(127)],
  ] as const) {
    it(`keeps the harmless part of its name: ${disposition.slice(0, 50)}`, async () => {
      const { answer, cluster } = await upload({ parts: [{ disposition, content: 'x' }] });
      assert.equal(answer.status, 200);
      assert.equal(cluster.received('record_artifact')[0]?.filename, expected);
    });
  }

  it('is never held in memory: the client has to wait while the store is busy', async () => {
    await using gateway = await gatewayFor();
    const { cluster } = gateway;
    recording(cluster);
    const gates: (() => void)[] = [];
    cluster.blobs.beforeWrite = () => new Promise((resolve) => gates.push(resolve));
    const content = randomBytes(32 * 1024 * 1024);
    const { body, type } = multipart([{ disposition: FILE, content }]);
    const connection = await RawConnection.open(gateway.port);
    connection.head('POST /v1/artifacts', { 'Content-Type': type, 'Content-Length': String(body.length) });
    connection.write(body);
    await until('the first write', () => gates.length === 1);
    // What the kernel buffers on both sides has gone, and no more.
    await until('a client that waits', () => {
      const waiting = connection.socket.writableLength;
      return waiting > 0 && settled(waiting);
    });
    assert.ok(connection.socket.writableLength > 16 * 1024 * 1024);
    cluster.blobs.beforeWrite = async () => {};
    gates[0]?.();
    const { status, body: reply } = await connection.answer();
    connection.close();
    assert.equal(status, 200);
    assert.equal(JSON.parse(reply).sha256, sha256(content));
  });

  it('by the typed client arrives whole, under a name beyond ASCII', async () => {
    await using gateway = await gatewayFor();
    recording(gateway.cluster);
    const dir = mkdtempSync(join(tmpdir(), 'jq-up-'));
    const file = join(dir, "spectra 'α'.csv");
    const content = randomBytes(3 * 1024 * 1024);
    writeFileSync(file, content);
    const client = new ClusterClient({ server: gateway.url });
    const reply = await client.upload('uploadArtifact', { file });
    await client.close();
    rmSync(dir, { recursive: true });
    assert.equal(reply.sha256, sha256(content));
    assert.equal(gateway.cluster.received('record_artifact')[0]?.filename, "spectra 'α'.csv");
  });
});

/** True once a number has stayed the same for many looks at it. */
const settled = (() => {
  let last = -1;
  let same = 0;
  return (value: number) => {
    same = value === last ? same + 1 : 0;
    last = value;
    return same > 20;
  };
})();

describe('an upload that cannot be taken', () => {
  const content = 'x';
  const malformed: [string, Sent, RegExp][] = [
    ['has no part of that name', { parts: [{ disposition: 'name="data"', content }] }, /no part 'file'/],
    [
      'has two',
      {
        parts: [
          { disposition: FILE, content },
          { disposition: FILE, content },
        ],
      },
      /more than one part 'file'/,
    ],
    ['has no part at all', { parts: [] }, /no part 'file'|malformed multipart/],
    [
      'ends before its last boundary',
      { parts: [{ disposition: FILE, content }], cut: 8 },
      /malformed multipart/,
    ],
    [
      'ends within its part, though its length is right',
      { parts: [{ disposition: FILE, content }], cut: 40 },
      /malformed multipart|no part/,
    ],
  ];
  for (const [title, sent, detail] of malformed) {
    it(`because it ${title} gets 400 and leaves nothing`, async () => {
      const { answer, reply, cluster } = await upload(sent);
      assert.deepEqual([answer.status, reply.code], [400, 'malformed_body']);
      assert.match(reply.detail, detail);
      assertNothingLeft(cluster);
    });
  }

  for (const type of [
    undefined,
    'application/json',
    'multipart/form-data',
    'multipart/form-data; boundary=',
  ]) {
    it(`because its type is ${type} gets 400`, async () => {
      await using gateway = await gatewayFor();
      const headers: Record<string, string> = type ? { 'Content-Type': type } : {};
      const answer = await ask(gateway.port, { line: 'POST /v1/artifacts', headers, body: 'x' });
      assert.equal(answer.status, 400);
      assert.match(JSON.parse(answer.body).detail, /multipart\/form-data body with one part 'file'/);
      assertNothingLeft(gateway.cluster);
    });
  }

  for (const chunked of [false, true]) {
    it(`because it is one byte too large gets 413 and leaves nothing${chunked ? ', in chunks' : ''}`, async () => {
      const parts = [{ disposition: FILE, content: 'x'.repeat(LIMIT + 1) }];
      const { answer, reply, cluster } = await upload({ parts, chunked });
      assert.deepEqual([answer.status, reply.code], [413, 'artifact_too_large']);
      assertNothingLeft(cluster);
    });
  }

  it('because it declares too many bytes gets 413 before any is sent', async () => {
    await using gateway = await gatewayFor({ maxArtifactBytes: LIMIT });
    const connection = await RawConnection.open(gateway.port);
    connection.head('POST /v1/artifacts', {
      'Content-Type': 'multipart/form-data; boundary=x',
      'Content-Length': String(10 * 1024 * 1024),
    });
    assert.equal((await connection.answer()).status, 413);
    connection.close();
    assertNothingLeft(gateway.cluster);
  });

  it('because parts beside the file go on for ever gets 413', async () => {
    const parts = [{ disposition: 'name="note"', content: 'x'.repeat(2 * 1024 * 1024) }];
    const { answer } = await upload({ parts, chunked: true });
    assert.equal(answer.status, 413);
  });

  it('because its task is unknown gets 404 before its bytes are taken', async () => {
    await using gateway = await gatewayFor();
    const { cluster } = gateway;
    cluster.reads.assertTask = async (id) => {
      throw ClusterError.unknown('task', id);
    };
    const { body, type } = multipart([{ disposition: FILE, content: 'x'.repeat(100_000) }]);
    const line = 'POST /v1/tasks/task_9/artifacts';
    const answer = await ask(gateway.port, { line, headers: { 'Content-Type': type }, body });
    assert.deepEqual([answer.status, JSON.parse(answer.body).code], [404, 'unknown_id']);
    assert.equal(cluster.blobs.written, 0);
  });

  for (const code of ['no_room', 'store_unavailable'] as const) {
    it(`because the store fails with ${code} is refused at once, and leaves nothing`, async () => {
      await using gateway = await gatewayFor();
      gateway.cluster.blobs.beforeWrite = async () => {
        throw new ClusterError(code, 'the disk is full');
      };
      // The client has only begun, and learns of it all the same.
      const connection = await begun(gateway);
      const answer = await connection.answer();
      connection.close();
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [code === 'no_room' ? 507 : 503, code]);
      assertNothingLeft(gateway.cluster);
    });
  }

  it('because the client broke off leaves nothing', async () => {
    await using gateway = await gatewayFor();
    const { blobs } = gateway.cluster;
    const connection = await begun(gateway);
    await until('the first bytes in the store', () => blobs.written > 0);
    assert.equal(blobs.open, 1);
    connection.close();
    await until('the writer to be aborted', () => blobs.open === 0);
    assertNothingLeft(gateway.cluster);
  });

  it('leaves its connection usable', async () => {
    await using gateway = await gatewayFor({ maxArtifactBytes: LIMIT });
    const { body, type } = multipart([{ disposition: FILE, content: 'x'.repeat(600_000) }]);
    const connection = await RawConnection.open(gateway.port);
    connection.head('POST /v1/artifacts', { 'Content-Type': type, 'Transfer-Encoding': 'chunked' });
    connection.chunk(body.toString('latin1'));
    connection.write('0\r\n\r\n');
    assert.equal((await connection.answer()).status, 413);
    connection.head('GET /healthz');
    assert.equal((await connection.answer()).status, 200);
    connection.close();
  });
});

/** An upload of which the first 300 kB have been sent. */
async function begun(gateway: TestGateway): Promise<RawConnection> {
  const { body, type } = multipart([{ disposition: FILE, content: 'x'.repeat(1_000_000) }]);
  const connection = await RawConnection.open(gateway.port);
  connection.head('POST /v1/artifacts', { 'Content-Type': type, 'Content-Length': String(body.length) });
  connection.write(body.subarray(0, 300_000));
  return connection;
}
