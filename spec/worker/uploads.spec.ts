import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
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
