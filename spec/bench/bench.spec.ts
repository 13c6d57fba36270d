import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import { figuresOf, judge, mergeFigures } from '../../bench/figures.ts';
import { FrameReader } from '../../bench/load/frames.ts';
import { HttpPool } from '../../bench/load/http-pool.ts';
import { runOnce } from '../../bench/run.ts';
import { atLeast, atMost, type Reading } from '../../bench/workload.ts';
import { WORKLOADS } from '../../bench/workloads/index.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

/** Those that need other programs are measured by hand. */
const OURS = WORKLOADS.filter(({ name }) => name !== 'peers');

describe('the bench', { concurrency: 2 }, () => {
  for (const workload of OURS) {
    test(`${workload.name}: does all its work, with tiny counts`, async (t) => {
      const folder = await temporaryDirectory(t);
      const readings = await runOnce(workload, { scale: 'tiny', folder, minutes: 0.05 });
      const values = readings.flatMap(({ id, value }) => [value].flat().map((one) => [id, one] as const));
      assert.deepEqual(
        values.filter(([, value]) => !Number.isFinite(value)),
        [],
      );
      assert.deepEqual(readdirSync(folder), [], 'state directories are left');
    });
  }

  test('gives every figure a name of its own', async () => {
    const names = WORKLOADS.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
  });
});

describe('the clients of the bench', () => {
  test('a follower reads frames of any length and answers pings', async (t) => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    t.after(() => server.close());
    const pong = once(server, 'connection').then(async (connected) => {
      const socket = connected[0] as WebSocket;
      const answered = once(socket, 'pong');
      socket.ping('alive?');
      const [text] = await answered;
      for (const length of [5, 200, 70_000]) socket.send('x'.repeat(length));
      return String(text);
    });
    const lengths: number[] = [];
    const { port } = server.address() as { port: number };
    const reader = await FrameReader.open(`http://127.0.0.1:${port}`, '/', (text) =>
      lengths.push(text.length),
    );
    t.after(() => reader.close());
    assert.equal(await pong, 'alive?');
    await until('all frames have come', () => lengths.length === 3);
    assert.deepEqual(lengths, [5, 200, 70_000]);
  });

  test('the HTTP client reads answers that come in pieces, and queues what is more than its connections', async (t) => {
    const server = createServer(async (request, response) => {
      const text = `${request.method} ${request.url}`;
      response.writeHead(200, { 'content-length': text.length });
      for (const envelope of text) {
        response.write(envelope);
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as { port: number };
    const pool = await HttpPool.open(`http://127.0.0.1:${port}`, 2);
    t.after(() => {
      pool.close();
      server.close();
    });
    const paths = Array.from({ length: 10 }, (_, i) => `/${'x'.repeat(i)}`);
    const answers = await Promise.all(paths.map((path) => pool.read(path)));
    assert.deepEqual(
      answers,
      paths.map((path) => `GET ${path}`),
    );
  });
});

describe('figures', () => {
  const reading = (id: string, value: number, more: Partial<Reading> = {}): Reading => ({
    id,
    what: id,
    unit: 'ms',
    value,
    ...more,
  });

  test('hold one value for each run, with the processor time for each unit of work', () => {
    const server = { cpuSeconds: 2, peakBytes: 100, bytes: 50 };
    const run = (value: number) => [reading('a', value, { server, per: { count: 1000, what: 'task' } })];
    const { a } = figuresOf('work', [run(1), run(3), run(2)], 'today');
    assert.deepEqual(a?.values, [1, 3, 2]);
    assert.deepEqual(a?.cpuMicroseconds, { values: [2000, 2000, 2000], per: 'task' });
    assert.deepEqual(a?.peakBytes, [100, 100, 100]);
  });

  test('of a workload that is measured again replace its own and leave the others', () => {
    const known = {
      ...figuresOf('one', [[reading('one.old', 1)]], 'before'),
      ...figuresOf('two', [[reading('two.kept', 1)]], 'before'),
    };
    const merged = mergeFigures(known, figuresOf('one', [[reading('one.new', 2)]], 'now'));
    assert.deepEqual(Object.keys(merged).sort(), ['one.new', 'two.kept']);
  });

  test('are compared by their medians with a number or with another figure', () => {
    const figures = {
      ...figuresOf('peer', [[reading('peer', 100)]], 'now'),
      ...figuresOf(
        'ours',
        [40, 60, 1000].map((value) => [
          reading('ours', value, { targets: [atLeast(0.5, 'peer'), atMost(50)] }),
        ]),
        'now',
      ),
    };
    const [relative, absolute] = judge(figures.ours as never, figures);
    assert.deepEqual([relative?.limit, relative?.ratio, relative?.reached], [50, 0.6, true]);
    assert.deepEqual([absolute?.ratio, absolute?.reached], [1.2, false]);
  });

  test('are not judged while the figure to compare with is unknown', () => {
    const figures = figuresOf(
      'ours',
      [[reading('ours', 1, { targets: [atMost(2, 'never measured')] })]],
      'now',
    );
    const [verdict] = judge(figures.ours as never, figures);
    assert.deepEqual([verdict?.known, verdict?.reached], [false, false]);
  });
});
