import { mkdirSync } from 'node:fs';
import type { Lease } from '../../../machines/attempt/attempt.ts';
import { at, compose, members, RawJson } from '../../../machines/json/raw.ts';
import type { AttemptPaths } from '../attempt/paths.ts';
import { writeText } from '../files.ts';
import type { Persistence } from '../link/persist.ts';
import type { Artifacts } from './artifacts.ts';
import type { Held } from './cache/cache.ts';
import type { Catalog } from './catalog/catalog.ts';
import { placeDataset } from './dataset.ts';
import { InputError } from './input-error.ts';
import { type Fingerprints, placePipeline } from './pipeline.ts';

/** What placing one input needs. */
export interface InputContext {
  lease: Lease;
  artifacts: Artifacts;
  /** Folder for what is downloaded, unpacked or written. */
  folder: string;
  allowPython: boolean;
  datasets: Readonly<Record<string, string>>;
  /** Null where the worker was given none. */
  catalog: Catalog | null;
  persistence: Persistence;
  /** Keeps something in place until nothing of the attempt needs it any more. `what`: how messages call it. */
  hold(what: string, held: Held): void;
  /** Writes a line to the task's log. */
  note(line: string): void;
}

/**
 * Puts pipeline and dataset in place and writes the spec file of the runner protocol, which holds local paths
 * only and the params exactly as the client wrote them.
 * @returns what identifies the pipeline
 * @throws InputError for what the job names wrongly
 */
export async function materialize(context: InputContext, paths: AttemptPaths): Promise<Fingerprints> {
  for (const folder of [paths.inputs, paths.workspace, paths.output]) mkdirSync(folder, { recursive: true });
  const { outputs, expand } = context.lease.payload;
  // Whoever only looks for the variants of a pipeline needs no data.
  const [pipeline, dataset] = await together(
    placePipeline(context),
    expand ? Promise.resolve(null) : placeDataset(context),
  );
  const { params, inner_n_jobs } = splitParams(at(context.lease.text, 'params') ?? '{}');
  const spec = compose({
    pipeline: pipeline.local,
    dataset: dataset === null ? undefined : { mode: 'path', path: dataset },
    expand,
    params,
    inner_n_jobs,
    outputs,
  });
  await writeText(paths.spec, spec);
  return pipeline.fingerprints;
}

/** Both, or the first fault once neither works any more: nothing may write behind the back of a failed run. */
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
