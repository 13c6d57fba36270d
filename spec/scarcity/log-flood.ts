import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ClusterClient } from '../../gateway/client/client.ts';
import { forgetPeak, memoryOf, Program, ROOT } from '../support/program.ts';
import { startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';

const FLOOD = fileURLToPath(new URL('./flood.sh', import.meta.url));
/** What a log may take at most, by the worker's default; a few lines of the worker's own come on top. */
const LOG_LIMIT = 64 * 1024 * 1024;

export interface FloodFigures {
  bytes: number;
  seconds: number;
  /** Bytes by which memory grew at its highest. */
  workerGrown: number;
  serverGrown: number;
  /** Bytes that the worker's state directory took at its fullest. */
  disk: number;
  logBytes: number;
  events: number;
  /** Bytes of all log events together. */
  eventBytes: number;
}

/** A task that logs `bytes`; the log that is kept is cut, and neither memory nor disk follows what was written. */
export async function logFlood(folder: string, bytes: number): Promise<FloodFigures> {
  const server = await startServerProgram({ state: join(folder, 'server') });
  const state = join(folder, 'worker');
  const flags = ['--server', server.url, '--state', state, '--gpus', '0', '--log-level', 'error', '--json'];
  const worker = new Program(process.execPath, [
    `${ROOT}bin/jq-worker`,
    ...flags,
    '--runner',
    `flood=${FLOOD}`,
  ]);
  const client = new ClusterClient({ server: server.url });
  try {
    await worker.announced('started');
    const before = { worker: memoryOf(worker.pid).resident, server: memoryOf(server.pid).resident };
    for (const { pid } of [worker, server]) forgetPeak(pid);
    const began = performance.now();
    const { id } = await client.call('submitJob', { body: job(bytes) });
    let disk = 0;
    const ended = await until(
      'the task to end',
      async () => {
        disk = Math.max(disk, sizeOf(state));
        const view = await client.call('getJob', { params: { id } });
        return view.status !== 'queued' && view.status !== 'running' && view;
      },
      600,
    );
    assert.equal(ended.status, 'succeeded', JSON.stringify(ended.aggregate.errors));
    const seconds = (performance.now() - began) / 1000;
    const grown = (pid: number, from: number) => memoryOf(pid).peak - from;
    const [workerGrown, serverGrown] = [grown(worker.pid, before.worker), grown(server.pid, before.server)];
    const log = await logOf(client, id);
    return { bytes, seconds, workerGrown, serverGrown, disk, logBytes: log, ...(await eventsOf(client, id)) };
  } finally {
    await client.close();
    await worker.terminate();
    await server.kill();
  }
}

const job = (bytes: number) => ({
  type: 'flood.run',
  pipeline: { kind: 'inline_json' as const, inline: {} },
  dataset: { kind: 'shared_path' as const, path: '/tmp' },
  params: { half: Math.floor(bytes / 2) },
});

/** The size of the log that was kept, which says in its last lines that it was cut. */
async function logOf(client: ClusterClient, id: string): Promise<number> {
  const artifacts = await client.call('listJobArtifacts', { params: { id } });
  const log = artifacts.find(({ role }) => role === 'logs');
  assert.ok(log, 'the log was uploaded');
  assert.ok(log.size_bytes <= LOG_LIMIT + 4096, `the log has ${log.size_bytes} bytes`);
  const { body } = await client.download(log.id, { range: 'bytes=-4096' });
  let end = '';
  for await (const chunk of body) end += chunk;
  assert.match(end, /the log exceeds 67108864 bytes; the rest is left out/);
  return log.size_bytes;
}

/** Log events are at most one a second, of at most 16 KiB. */
async function eventsOf(client: ClusterClient, id: string) {
  const query = { limit: 5000 };
  const events = (await client.call('listJobEvents', { params: { id }, query })).filter(
    ({ type }) => type === 'log',
  );
  const sizes = events.map(({ message }) => Buffer.byteLength(message));
  assert.ok(Math.max(...sizes) <= 16 * 1024, 'no event has more than 16 KiB');
  assert.ok(
    events.some(({ message }) => /bytes left out/.test(message)),
    'a marker says what is left out',
  );
  return { events: events.length, eventBytes: sizes.reduce((a, b) => a + b, 0) };
}

function sizeOf(folder: string): number {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => statSync(join(folder, name), { throwIfNoEntry: false }))
      .reduce((sum, found) => sum + (found?.isFile() ? found.size : 0), 0);
  } catch {
    // A folder went while it was looked into.
    return 0;
  }
}
