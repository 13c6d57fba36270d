import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { ClusterClient } from '../../gateway/client/client.ts';
import { jobText } from '../crash/load.ts';
import { forgetPeak, memoryOf } from '../support/program.ts';
import { startServerProgram } from '../support/server-program.ts';
import { askUnread } from '../support/unread.ts';

export interface LongViewOptions {
  state: string;
  /** Tasks that succeeded, and as many that failed. */
  rows: number;
  /** Bytes of the text of each, which a store from before the limits may hold. */
  bytes: number;
  /** Other jobs, workers and events with a long text, and its bytes. */
  others: number;
  othersBytes: number;
  /** Clients that ask for a long view and never read it. */
  stalled: number;
}

export interface LongViewFigures {
  /** Bytes of each answer, by its path. */
  answers: Record<string, number>;
  /** Bytes by which the server's memory grew at its highest, while all were read, and while clients stalled. */
  grownReading: number;
  grownStalled: number;
  /** Milliseconds that the slowest request of others took meanwhile. */
  slowest: number;
}

/**
 * Views that are longer than memory, or than any text can be: all of them are read whole by a client that keeps up,
 * and asked for by many that don't read.
 */
export async function longViews(options: LongViewOptions): Promise<LongViewFigures> {
  const { state, stalled } = options;
  const job = await filledStore(options);
  const server = await startServerProgram({ state });
  const client = new ClusterClient({ server: server.url });
  const sockets: Socket[] = [];
  try {
    await client.call('getStats');
    const before = memoryOf(server.pid).resident;
    forgetPeak(server.pid);
    const paths = [
      `/v1/jobs/${job}`,
      `/v1/jobs/${job}/tasks`,
      `/v1/jobs/${job}/ranking`,
      `/v1/jobs/${job}/ranking?format=csv`,
      `/v1/jobs/${job}/request`,
      `/v1/jobs/${job}/artifacts`,
      `/v1/jobs/${job}/events?limit=5000`,
      '/v1/jobs?limit=1000',
      '/v1/workers',
      '/v1/events?limit=5000',
    ];
    const answers: Record<string, number> = {};
    for (const path of paths) answers[path] = await lengthOf(`${server.url}${path}`);
    const grownReading = memoryOf(server.pid).peak - before;

    forgetPeak(server.pid);
    const port = Number(new URL(server.url).port);
    for (let i = 0; i < stalled; i++) sockets.push(await askUnread(port, paths[i % 3] as string));
    const slowest = await slowestOf(client);
    const grownStalled = memoryOf(server.pid).peak - before;
    for (const socket of sockets) socket.destroy();
    const lengths = await lengthOf(`${server.url}${paths[0]}`);
    assert.equal(lengths, answers[paths[0] as string], 'the same view once more');
    assert.equal((await server.terminate()).code, 0);
    return { answers, grownReading, grownStalled, slowest };
  } finally {
    for (const socket of sockets) socket.destroy();
    await client.close();
    await server.kill();
  }
}

/** A store with rows that no client could send any more. @returns the job that has the tasks */
async function filledStore(options: LongViewOptions): Promise<string> {
  const { state, rows, bytes, others, othersBytes } = options;
  const server = await startServerProgram({ state });
  const client = new ClusterClient({ server: server.url });
  const { id } = await client.call('submitJob', { text: jobText('long', 2 * rows) });
  for (let i = 0; i < others; i++) {
    await client.call('submitJob', { text: jobText(`other ${i}`, 1) });
    await client.call('registerWorker', { body: { name: `worker ${i}` } });
  }
  await client.close();
  await server.terminate();
  const db = await open({ filename: join(state, 'store.sqlite'), driver: sqlite3.Database });
  const [task, other] = [textOf(bytes), textOf(othersBytes)];
  const jsonOf = (text: string) => `'{"x":' || json_quote(${text}) || '}'`;
  await db.exec(`
    UPDATE tasks SET status = 'succeeded', rank_value = seq, worker_id = 'worker_x',
      result = '{"status":"succeeded","metrics":{"best_rmse":1},"extra":' || ${jsonOf(task)} || '}'
      WHERE job_id = '${id}' AND seq % 2 = 0;
    UPDATE tasks SET status = 'failed', error = ${task} WHERE job_id = '${id}' AND seq % 2 = 1;
    UPDATE jobs SET status = 'succeeded', num_queued = 0, num_succeeded = ${rows}, num_failed = ${rows},
      best_task_id = 'task_x', best_metric = 1, standings = NULL WHERE id = '${id}';
    UPDATE jobs SET type = ${other} WHERE id <> '${id}';
    UPDATE workers SET labels = ${jsonOf(other)};
    UPDATE job_requests SET request = ${jsonOf(other)} WHERE job_id = '${id}';
    UPDATE events SET message = ${other}, data = ${jsonOf(other)} WHERE type = 'worker_registered';
    PRAGMA wal_checkpoint(TRUNCATE);`);
  await db.close();
  return id;
}

/** In SQL: with what has two bytes, and what JSON escapes, so that no cut and no count goes by characters. */
const textOf = (bytes: number): string =>
  `replace(hex(zeroblob(${Math.ceil(bytes / 10)})), '00', 'é"' || char(10) || '123ab')`;

/** Reads an answer whole and lets go of it; what is no table must be JSON from its beginning to its end. */
async function lengthOf(url: string): Promise<number> {
  const answer = await fetch(url);
  assert.equal(answer.status, 200, `${url}: ${answer.status}`);
  let length = 0;
  let [first, last] = [0, 0];
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    if (chunk.length === 0) continue;
    if (length === 0) first = chunk[0] as number;
    last = chunk.at(-1) as number;
    length += chunk.length;
  }
  const ends = String.fromCharCode(first, last);
  assert.ok(url.endsWith('csv') || ends === '[]' || ends === '{}', `${url} begins and ends with ${ends}`);
  return length;
}

/** Others are served meanwhile: long enough for the stalled answers to fill whatever they fill. */
async function slowestOf(client: ClusterClient): Promise<number> {
  let slowest = 0;
  for (let i = 0; i < 200; i++) {
    const began = performance.now();
    await client.call('getStats');
    await client.call('listJobs', { query: { limit: 1, name: 'nowhere' } });
    slowest = Math.max(slowest, performance.now() - began);
  }
  return Math.round(slowest);
}
