import { createHash, randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ResponseError } from '../../gateway/client/errors.ts';
import type { Seeded } from '../support/seeded.ts';
import { type Ack, only } from './ledger.ts';
import type { Line } from './line.ts';

/**
 * A job of `tasks` tasks; its name is its own, and the analysis gives it back in its result. One of three tasks selects
 * the best of them, which is run again.
 */
export function jobText(name: string, tasks: number, padding = 0): string {
  const pipelines = Array.from({ length: tasks }, (_, i) => ({
    kind: 'inline_json',
    inline: { step: i, padding: 'x'.repeat(i === 0 ? padding : 0) },
  }));
  const dataset = { kind: 'shared_path', path: '/tmp', name: 'any' };
  // A number that no double holds: what is stored must be what was sent, digit by digit.
  const params = `{"token":"${name}","seed":12345678901234567890,"rate":1.0}`;
  return `{"type":"tick.run","name":"${name}","pipelines":${JSON.stringify(pipelines)},"dataset":${JSON.stringify(dataset)},"params":${params},${tasks === 3 ? '"select":{"by":"best_rmse"},' : ''}"retry":{"max_attempts":10}}`;
}

/**
 * Submits jobs, one after another; one in two under a key, and then again until it is answered.
 * @param pause milliseconds between two, at most
 */
export async function submitter(line: Line, chance: Seeded, label: string, pause = 30): Promise<void> {
  for (let n = 0; line.open; n++) {
    const name = `${label}-${n}`;
    const keyed = chance.chance(0.5);
    const body = jobText(name, chance.whole(1, 3), chance.chance(0.1) ? 100_000 : 0);
    const text = keyed ? `${body.slice(0, -1)},"idempotency_key":"${name}"}` : body;
    line.ledger.submitted.add(name);
    const submit = () => line.client.call('submitJob', { text });
    const job = await (keyed ? line.persist(submit) : line.once(submit));
    if (job) line.ledger.add({ what: 'job', name, id: job.id, text });
    // The queue stays short, so that all kinds of requests are under way at any time.
    await delay(chance.whole(0, pause));
  }
}

/** Submits jobs of 400 kB without a pause until it is told to stop, so that the log of the store grows fast. */
export async function flood(line: Line, label: string, go: () => boolean): Promise<void> {
  for (let n = 0; go(); n++) {
    const name = `${label}-${n}`;
    const text = jobText(name, 1, 400_000);
    line.ledger.submitted.add(name);
    const job = await line.once(() => line.client.call('submitJob', { text }));
    if (job) line.ledger.add({ what: 'job', name, id: job.id, text });
  }
}

/** Cancels a job now and then, and retries one that has failed. */
export async function operator(line: Line, chance: Seeded): Promise<void> {
  while (line.open) {
    await delay(chance.whole(20, 80));
    const acks = line.ledger.read();
    const jobs = only(acks, 'job');
    if (jobs.length > 0 && chance.chance(0.5)) await cancel(line, chance.pick(jobs.slice(-20)).id);
    const failed = failedTasks(acks);
    if (failed.length > 0 && chance.chance(0.5)) await retry(line, chance.pick(failed.slice(-10)).job);
  }
}

const failedTasks = (acks: readonly Ack[]) => only(acks, 'fail').filter(({ requeued }) => !requeued);

async function cancel(line: Line, job: string): Promise<void> {
  line.ledger.cancelSent.add(job);
  const view = await line.once(() => line.client.call('cancelJob', { params: { id: job } }));
  if (view) line.ledger.add({ what: 'cancel', job, status: view.status });
}

async function retry(line: Line, job: string): Promise<void> {
  line.ledger.retrySent.add(job);
  try {
    const view = await line.once(() => line.client.call('retryJob', { params: { id: job } }));
    if (view) line.ledger.add({ what: 'retry', job });
  } catch (fault) {
    // Only a failed job can be retried, and others may have been quicker.
    if (!(fault instanceof ResponseError && fault.status === 409)) throw fault;
  }
}

/** Uploads input artifacts of all sizes, one after another. @param pause milliseconds between two, at most */
export async function uploader(line: Line, chance: Seeded, folder: string, pause = 40): Promise<void> {
  for (let n = 0; line.open; n++) {
    await upload(line, join(folder, `input-${n}`), chance.whole(1, 600_000));
    await delay(chance.whole(0, pause));
  }
}

/** Uploads random bytes; true when that was acknowledged. */
export async function upload(line: Line, file: string, size: number): Promise<boolean> {
  const bytes = randomBytes(size);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await writeFile(file, bytes);
  const stored = await line.once(() => line.client.upload('uploadArtifact', { file }));
  await rm(file);
  if (!stored) return false;
  if (stored.sha256 !== sha256) throw new Error(`uploaded ${sha256}, acknowledged as ${stored.sha256}`);
  line.ledger.add({ what: 'artifact', id: stored.artifact_id, sha256, size });
  return true;
}
