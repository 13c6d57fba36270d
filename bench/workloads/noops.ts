import type { MeasuredWorker } from '../measure/worker.ts';
import { runJob } from './checks.ts';

/**
 * Runs so many tasks that do nothing on a dataset, as one job.
 * @returns seconds in all, and milliseconds a task of the processor in the worker and its children
 * @throws Error when one does not succeed
 */
export async function runNoops(worker: MeasuredWorker, url: string, dataset: object, count: number) {
  return await runTasks(worker, url, {
    type: 'noop.run',
    pipelines: inlinePipelines(count),
    datasets: [dataset],
  });
}

/** The same with another job. */
export async function runTasks(
  worker: MeasuredWorker,
  url: string,
  job: { type: string; pipelines: readonly object[]; datasets: readonly object[] },
) {
  const count = job.pipelines.length;
  const before = worker.cpuSeconds();
  const { seconds } = await runJob(url, job, count);
  return { seconds, workerMs: ((worker.cpuSeconds() - before) * 1000) / count };
}

/** So many pipelines of a runner that does not look at them. */
export const inlinePipelines = (count: number): object[] =>
  Array.from({ length: count }, (_, i) => ({ kind: 'inline_json', inline: { i } }));
