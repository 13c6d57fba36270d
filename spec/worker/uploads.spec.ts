import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { Outbox } from '../../actors/worker/delivery/outbox.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { FaultyLine, type Line } from './faulty-line.ts';
import { startTestWorker, submit, taskIn, taskOf } from './support.ts';

const BYTES = 3_000_000;

/** A worker that exports a model of some size, over a line that breaks. */
async function play(t: TestContext, breaks: (proxy: FaultyLine) => void) {
  const server = await startTestServer(t);
  const proxy = await FaultyLine.start(t, server.port);
  breaks(proxy);
  await startTestWorker(t, proxy);
  const job = await submit(server, { do: 'export', bytes: BYTES });
  return { server, proxy, job };
}

/** The models that the server has of a job, as their lengths in bytes. */
async function modelsOf(server: TestServer, job: string): Promise<number[]> {
  const artifacts = await server.client.call('listJobArtifacts', { params: { id: job } });
  const models = artifacts.filter(({ role }) => role === 'model');
  const bodies = await Promise.all(models.map(({ id }) => server.client.download(id)));
  const texts = await Promise.all(bodies.map(({ body }) => text(body)));
  assert.ok(texts.every((content) => /^m*$/.test(content)));
  return texts.map((content) => content.length);
}

const isModel = ({ request }: Line) => request.includes('/artifacts?role=model');

describe('an upload whose connection breaks', () => {
  it('is repeated whole', async (t) => {
    let broken = 0;
    const { server, job } = await play(t, (proxy) => {
      proxy.fate = (line) => {
        if (!isModel(line) || line.sent < BYTES / 2 || broken === 2) return 'pass';
        broken++;
        return 'cut';
      };
    });
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.attempt, broken], ['succeeded', 1, 2]);
    assert.deepEqual(await modelsOf(server, job), [BYTES]);
  });

  it('is repeated when only its answer was lost, and the bytes are kept once', async (t) => {
    let broken = 0;
    const { server, job } = await play(t, (proxy) => {
      proxy.fate = (line, from) => (isModel(line) && from === 'server' && broken++ === 0 ? 'cut' : 'pass');
    });
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.attempt], ['succeeded', 1]);
    assert.ok(broken > 1);
    assert.deepEqual(await modelsOf(server, job), [BYTES]);
  });

  it('keeps the task running: a result is complete only when its artifacts are stored', async (t) => {
    let broken = 0;
    const { server, proxy, job } = await play(t, (proxy) => {
      proxy.fate = (line) => {
        if (!isModel(line) || line.sent < BYTES / 2) return 'pass';
        broken++;
        return 'cut';
      };
    });
    await until('several tries', () => broken >= 4);
    assert.equal((await taskOf(server, job)).status, 'running');
    assert.deepEqual(await modelsOf(server, job), []);
    proxy.release();
    const task = await taskIn(server, job);
    const { model } = (task.result?.artifacts ?? {}) as Record<string, string>;
    assert.match(`${model}`, /^art_/);
    assert.deepEqual(await modelsOf(server, job), [BYTES]);
  });
});

describe('the files of a task', () => {
  it('are uploaded beside each other, each once', async (t) => {
    const server = await startTestServer(t);
    const proxy = await FaultyLine.start(t, server.port);
    const held = new Set<Line>();
    proxy.fate = (line, from) => {
      if (from === 'worker' || !line.request.includes('/artifacts?role=output')) return 'pass';
      held.add(line);
      return 'hold';
    };
    const names = ['a.bin', 'b.bin', 'c.bin'];
    const script = `cd "$6"; for name in ${names.join(' ')}; do head -c ${BYTES} /dev/zero > $name; done; echo '{}' > "$8"`;
    const command = ['/bin/sh', '-c', script, 'runner'];
    const { state } = await startTestWorker(t, proxy, {
      runners: [{ library: 'demo', command, packages: { demo: '1.0' } }],
    });
    const job = await submit(server, {});
    await until('all of them to wait for an answer', () => held.size === names.length);
    proxy.release();
    assert.equal((await taskIn(server, job)).status, 'succeeded');
    const artifacts = await server.client.call('listJobArtifacts', { params: { id: job } });
    const outputs = artifacts.filter(({ role }) => role === 'output').map(({ filename }) => filename);
    assert.deepEqual(outputs.sort(), names);
    await until('nothing to be left', async () => (await new Outbox(state).load()).entries.length === 0);
  });
});
