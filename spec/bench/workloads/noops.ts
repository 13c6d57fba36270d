import { setTimeout as delay } from 'node:timers/promises';
import type { MeasuredWorker } from '../measure/worker.ts';
import { getJson, submitOne } from './checks.ts';

const LOOK_MS = 20;

/**
 * Runs so many tasks that do nothing on a dataset, as one job.
 * @returns seconds in all, and milliseconds a task of the processor in the worker and its children
 * @throws Error when one does not succeed
 */
export async function runNoops(worker: MeasuredWorker, url: string, dataset: object, count: number) {
  const pipelines = Array.from({ length: count }, (_, i) => ({ kind: 'inline_json', inline: { i } }));
  const [began, before] = [performance.now(), worker.cpuSeconds()];
  const id = await submitOne(url, JSON.stringify({ type: 'noop.run', pipelines, datasets: [dataset] }));
  for (;;) {
    const job = await getJson<{ status: string; aggregate: { num_succeeded: number } }>(
      url,
      `/v1/jobs/${id}`,
    );
    const { num_succeeded } = job.aggregate;
    if (job.status === 'succeeded' && num_succeeded === count) break;
    if (!/^(queued|running)$/.test(job.status))
      throw new Error(`${num_succeeded} of ${count} tasks succeeded`);
    await delay(LOOK_MS);
  }
  const seconds = (performance.now() - began) / 1000;
  return { seconds, workerMs: ((worker.cpuSeconds() - before) * 1000) / count };
}
