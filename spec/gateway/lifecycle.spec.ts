import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type { GatewayOptions } from '../../gateway/options.ts';
import { ClusterError } from '../../machines/protocol/errors.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { type Need, requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { piecesOf } from '../support/views.ts';
import { ask, gatewayFor, RawConnection, recordingLog } from './support.ts';

async function refusal(options: Partial<GatewayOptions>): Promise<StartError> {
  try {
    await (await gatewayFor(options)).stop();
  } catch (fault) {
    assert.ok(fault instanceof StartError, String(fault));
    return fault;
  }
  throw new assert.AssertionError({ message: 'the gateway started' });
}

describe('a gateway cannot start', () => {
  it('on a port that another gateway has', async () => {
    await using gateway = await gatewayFor();
    const fault = await refusal({ port: gateway.port });
    assert.equal(fault.code, 'port_in_use');
    assert.ok(fault.message.includes(`port ${gateway.port} is in use`), fault.message);
    assert.equal((await ask(gateway.port, { line: 'GET /healthz' })).status, 200, 'the first one serves on');
  });

  it('on an address of another machine', async () => {
    const fault = await refusal({ host: '203.0.113.7' });
    assert.deepEqual(
      [fault.code, fault.message],
      ['address_unavailable', '203.0.113.7 is no address of this machine; check --host'],
    );
  });

  it('on a host name that does not exist', async () => {
    const fault = await refusal({ host: 'no-such-host.invalid' });
    assert.equal(fault.code, 'address_unavailable');
    assert.match(fault.message, /no-such-host\.invalid/);
  });

  for (const origin of [
    'lab.example',
    'localhost:3000',
    'ftp://lab.example',
    'https://lab.example/path',
    '',
  ]) {
    it(`with the CORS origin '${origin}'`, async () => {
      const fault = await refusal({ corsOrigins: [origin] });
      assert.equal(fault.code, 'bad_option');
      assert.match(fault.message, /is no origin such as https:/);
    });
  }

  for (const prefix of ['', 'a b', 'x:y', 'a\r\nb', '-x']) {
    it(`with the header prefix ${JSON.stringify(prefix)}`, async () => {
      assert.equal((await refusal({ headerPrefixes: [prefix] })).code, 'bad_option');
    });
  }
});

describe('a gateway', () => {
  const addresses: [string, string, Need[]][] = [
    ['127.0.0.1', '127.0.0.1', []],
    ['0.0.0.0', '127.0.0.1', []],
    ['localhost', 'localhost', []],
    ['::1', '[::1]', ['IPv6']],
  ];
  for (const [host, expected, needs] of addresses) {
    it(`on ${host} gives its address as clients can use it`, requires(...needs), async () => {
      await using gateway = await gatewayFor({ host });
      assert.equal(gateway.url, `http://${expected}:${gateway.port}`);
      const { status } = await fetch(`${gateway.url}/healthz`);
      assert.equal(status, 200);
    });
  }

  it('can start again at once on the port it had', async () => {
    const first = await gatewayFor();
    const connection = await RawConnection.open(first.port);
    connection.head('GET /healthz');
    await connection.answer();
    await first.stop();
    await using second = await gatewayFor({ port: first.port });
    assert.equal((await ask(second.port, { line: 'GET /healthz' })).status, 200);
  });

  it('confines the dashboard to its own scripts and styles, by hash', async () => {
    const html = `<!doctype html><style>b{}</style><script>let a = 1;\r\nlet b = '<b>';</script><script>c()</script>`;
    let made = 0;
    await using gateway = await gatewayFor({
      dashboard: async () => {
        made++;
        return html;
      },
    });
    const { status, headers, body } = await ask(gateway.port, { line: 'GET /ui' });
    await ask(gateway.port, { line: 'HEAD /ui' });
    assert.deepEqual([status, body, made], [200, html, 1]);
    const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    const policy = headers.get('content-security-policy') ?? '';
    const directives = new Map(
      policy.split('; ').map((d) => [d.split(' ')[0], d.split(' ').slice(1).join(' ')]),
    );
    assert.equal(directives.get('default-src'), "'none'");
    // A browser's parser turns CRLF into LF before it hashes.
    assert.equal(directives.get('script-src'), `${hash("let a = 1;\nlet b = '<b>';")} ${hash('c()')}`);
    assert.equal(directives.get('style-src'), hash('b{}'));
    assert.doesNotMatch(policy, /unsafe/);
  });

  for (const [host, sources] of [
    ['queue.lab:8765', "'self' ws://queue.lab:8765 wss://queue.lab:8765"],
    ['queue.lab', "'self' ws://queue.lab wss://queue.lab"],
    ['[::1]:8765', "'self'"],
    ['x; script-src *', "'self'"],
    ['*', "'self'"],
    ['a,b', "'self'"],
  ] as const) {
    it(`lets the dashboard connect to its own host alone: ${host}`, async () => {
      await using gateway = await gatewayFor({ principals: ['al:tok:viewer'], dashboard: () => '<p>' });
      const { status, headers } = await ask(gateway.port, { line: 'GET /ui', headers: { Host: host } });
      assert.equal(status, 200);
      const policy = headers.get('content-security-policy') ?? '';
      assert.deepEqual(policy.match(/connect-src [^;]*/g), [`connect-src ${sources}`]);
      assert.equal(policy.match(/script-src/g)?.length, 1);
    });
  }
});

describe('a fault behind the gateway', () => {
  it('of the store is answered with the time to wait, and logged as a warning', async () => {
    const { lines, log } = recordingLog('warn');
    await using gateway = await gatewayFor({ log });
    gateway.cluster.onSend = () => {
      throw new ClusterError('store_unavailable', 'the store cannot commit');
    };
    const { status, headers, body } = await ask(gateway.port, { line: 'POST /v1/workers/register' });
    assert.deepEqual([status, headers.get('retry-after')], [503, '1']);
    assert.deepEqual(JSON.parse(body), { detail: 'the store cannot commit', code: 'store_unavailable' });
    assert.match(lines.join(), /"level":40.*the store cannot commit/);
  });

  it('that is unexpected is answered without its message, and logged with its stack', async () => {
    const { lines, log } = recordingLog('error');
    await using gateway = await gatewayFor({ log });
    gateway.cluster.reads.stats = () => {
      throw new TypeError('secret of the inside');
    };
    const { status, body } = await ask(gateway.port, { line: 'GET /v1/stats' });
    assert.equal(status, 500);
    assert.equal(JSON.parse(body).code, 'internal');
    assert.doesNotMatch(body, /secret|TypeError/);
    assert.match(lines.join(), /secret of the inside.*\.ts/);
  });

  it('leaves one line for each request in the log, with its principal', async () => {
    const { lines, log } = recordingLog('debug');
    await using gateway = await gatewayFor({ log, principals: ['al:tok:viewer'] });
    await ask(gateway.port, { line: 'GET /v1/workers?x=1', headers: { Authorization: 'Bearer tok' } });
    await until('the line', () => lines.length === 1);
    const { method, path, status, principal, ms } = JSON.parse(lines[0] as string);
    assert.deepEqual([method, path, status, principal], ['GET', '/v1/workers', 200, 'al']);
    assert.ok(ms >= 0);
  });
});

describe('stopping', () => {
  it('lets a request under way finish, and closes its connection after it', async () => {
    const gateway = await gatewayFor();
    const { cluster } = gateway;
    let release: (reply: unknown) => void = () => {};
    cluster.onSend = () => new Promise((resolve) => (release = resolve));
    const connection = await RawConnection.open(gateway.port);
    connection.head('POST /v1/workers/worker_1/heartbeat', { 'Content-Length': '0' });
    await until('the request', () => cluster.sent.length === 1);
    const stopped = gateway.stop();
    await assert.rejects(RawConnection.open(gateway.port), 'nobody is let in any more');
    release({ ok: true, cancel_task_ids: [] });
    const answer = await connection.answer();
    assert.deepEqual([answer.status, answer.headers.get('connection')], [200, 'close']);
    await stopped;
    await until('the close', () => connection.socket.closed);
  });

  it('lets a large answer finish that the client is slow to read', async () => {
    const gateway = await gatewayFor();
    // More than the kernel buffers on both sides.
    const jobs = Array.from({ length: 12_000 }, (_, i) => ({ id: `job_${i}`, name: 'é'.repeat(500) }));
    gateway.cluster.reads.jobs = () => piecesOf(jobs);
    const connection = await RawConnection.open(gateway.port);
    connection.socket.pause();
    connection.head('GET /v1/jobs');
    await until('the answer to begin', () => connection.socket.bytesWritten > 0);
    await ask(gateway.port, { line: 'GET /healthz' });
    let isStopped = false;
    const stopped = gateway.stop().then(() => {
      isStopped = true;
    });
    await assert.rejects(RawConnection.open(gateway.port));
    assert.equal(isStopped, false, 'it waits for the client to take the rest');
    connection.socket.resume();
    const answer = await connection.answer();
    assert.ok(answer.body === JSON.stringify(jobs), 'the answer is whole');
    await stopped;
  });

  it('goes on answering on open connections until they have closed', async () => {
    const gateway = await gatewayFor();
    let release: (reply: unknown) => void = () => {};
    gateway.cluster.onSend = () => new Promise((resolve) => (release = resolve));
    const [waiting, idle] = [await RawConnection.open(gateway.port), await RawConnection.open(gateway.port)];
    idle.head('GET /healthz');
    await idle.answer();
    waiting.head('POST /v1/workers/worker_1/heartbeat', { 'Content-Length': '0' });
    await until('the request', () => gateway.cluster.sent.length === 1);
    const stopped = gateway.stop();
    idle.head('GET /healthz');
    const answer = await idle.answer();
    assert.deepEqual([answer.status, answer.headers.get('connection')], [200, 'close']);
    release({ ok: true, cancel_task_ids: [] });
    await stopped;
  });

  it('waits no longer than its limit for a request that does not end', async () => {
    const gateway = await gatewayFor({ drainMs: 20 });
    gateway.cluster.onSend = () => new Promise(() => {});
    const connection = await RawConnection.open(gateway.port);
    connection.head('POST /v1/workers/worker_1/lease', { 'Content-Length': '13' });
    connection.write('{"wait_s":20}');
    await until('the request', () => gateway.cluster.sent.length === 1);
    const { signal } = gateway.cluster.received('lease')[0] as { signal: AbortSignal };
    await gateway.stop();
    await until('the close', () => connection.socket.closed);
    assert.equal(signal.aborted, true);
  });

  it('twice is the same as once', async () => {
    const gateway = await gatewayFor();
    await Promise.all([gateway.stop(), gateway.stop()]);
    await gateway.stop();
    await assert.rejects(RawConnection.open(gateway.port));
  });

  it('leaves nothing of a gateway that could not start', async () => {
    await using gateway = await gatewayFor();
    const { cluster, port } = gateway;
    const before = cluster.events.listeners.size;
    await assert.rejects(gatewayFor({ port }, cluster));
    assert.equal(cluster.events.listeners.size, before);
  });
});
