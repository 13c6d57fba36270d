import { setTimeout as delay } from 'node:timers/promises';
import type { MeasuredWorker } from '../measure/worker.ts';
import { getJson, submitOne } from './checks.ts';

const LOOK_MS = 100;

interface Job {
  id: string;
  status: string;
  created_at: number;
  updated_at: number;
  aggregate: { num_succeeded: number };
}

/**
 * Runs so many tasks that do nothing on a dataset, as one job.
 * @returns seconds in all, and milliseconds a task of the processor in the worker and its children
 * @throws Error when one does not succeed
 */
export async function runNoops(worker: MeasuredWorker, url: string, dataset: object, count: number) {
  const pipelines = Array.from({ length: count }, (_, i) => ({ kind: 'inline_json', inline: { i } }));
  const before = worker.cpuSeconds();
  const id = await submitOne(url, JSON.stringify({ type: 'noop.run', pipelines, datasets: [dataset] }));
  for (;;) {
    // The list leaves out the ranking, so that to look costs little beside what is measured.
    const [job] = await getJson<[Job]>(url, '/v1/jobs?limit=1');
    if (job.id !== id) throw new Error(`${job.id} was submitted meanwhile`);
    const { num_succeeded } = job.aggregate;
    if (job.status === 'succeeded' && num_succeeded === count) {
      const workerMs = ((worker.cpuSeconds() - before) * 1000) / count;
      return { seconds: job.updated_at - job.created_at, workerMs };
    }
    if (!/^(queued|running)$/.test(job.status))
      throw new Error(`${num_succeeded} of ${count} tasks succeeded`);
    await delay(LOOK_MS);
  }
}
