import { mkdirSync } from 'node:fs';
import { at, compose, members, RawJson } from '../../../machines/json/raw.ts';
import type { AttemptPaths } from '../attempt/paths.ts';
import { InputError } from '../errors.ts';
import { writeText } from '../files.ts';
import { placeDataset } from './dataset.ts';
import type { InputContext } from './input-context.ts';
import { placeModel } from './model.ts';
import { type Fingerprints, placePipeline } from './pipeline.ts';

/**
 * Puts pipeline or model, and dataset, in place and writes the spec file of the runner protocol, which holds local paths
 * only and the params exactly as the client wrote them.
 * @returns what identifies the pipeline; nothing does of a model, which says itself what it is
 * @throws InputError for what the job names wrongly
 */
export async function materialize(context: InputContext, paths: AttemptPaths): Promise<Fingerprints> {
  for (const folder of [paths.workspace, paths.output]) mkdirSync(folder, { recursive: true });
  const { outputs, expand, model, ...task } = context.lease.payload;
  // Whoever only looks for the variants of a pipeline needs no data.
  const [source, dataset] = await together(
    model === undefined ? placePipeline(context, paths.pipeline) : placeModel(context),
    expand ? Promise.resolve(null) : placeDataset(context),
  );
  const { params, inner_n_jobs } = splitParams(at(context.lease.text, 'params') ?? '{}');
  const spec = compose({
    [model === undefined ? 'pipeline' : 'model']: source.local,
    dataset: dataset === null ? undefined : { mode: 'path', path: dataset },
    expand,
    params,
    inner_n_jobs,
    outputs,
    task: { job_id: task.job_id, task_id: task.task_id, attempt: task.attempt },
  });
  await writeText(paths.spec, spec);
  return source.fingerprints;
}

/** Both, or the first error once both have stopped: nothing may be written after an attempt has failed. */
async function together<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([a, b]);
  if (first.status === 'rejected') throw first.reason;
  if (second.status === 'rejected') throw second.reason;
  return [first.value, second.value];
}

/** `inner_n_jobs` is the worker's, not a parameter of the run function (docs/runners.md#what-a-runner-reads). */
export function splitParams(text: string): { params: RawJson; inner_n_jobs: RawJson } {
  const all = members(text);
  const jobs = all.get('inner_n_jobs') ?? '1';
  all.delete('inner_n_jobs');
  if (jobs !== 'null' && !/^-?[1-9]\d*$/.test(jobs)) {
    throw new InputError(
      `params.inner_n_jobs must be a whole number other than 0, not ${jobs.slice(0, 100)}`,
    );
  }
  const rest = [...all].map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  return {
    params: new RawJson(`{${rest.join(',')}}`),
    inner_n_jobs: new RawJson(jobs === 'null' ? '1' : jobs),
  };
}
