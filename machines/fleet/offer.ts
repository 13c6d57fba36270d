import { unmet, type WorkerProfile } from '../matching/matching.ts';
import type { DemandGroup } from '../schema/demand.ts';
import { DATASET_LABEL } from '../schema/job.ts';
import { PREDICT_LABEL } from '../schema/job-types.ts';
import type { Template } from './file.ts';

/** Libraries whose runners come with a worker, and predict. */
const OWN_LIBRARIES = ['mljs', 'nirs4all'];

/** What every worker brings, by what `jq-worker` of this version declares. */
export interface Brought {
  packages: Readonly<Record<string, string>>;
}

/** What the workers of a template will declare, as far as its file says. */
export function profileOf(template: Template, brought: Brought): WorkerProfile {
  const packages = { ...brought.packages, ...template.packages };
  const datasets = flagValues(template.worker, '--dataset').map((text) => text.split('=')[0] ?? '');
  const predicting = OWN_LIBRARIES.filter((library) => Object.hasOwn(packages, library));
  const { python, ...libraries } = packages;
  return {
    labels: {
      ...template.labels,
      ...trueFor(predicting.map((library) => PREDICT_LABEL + library)),
      ...trueFor(datasets.map((name) => DATASET_LABEL + name)),
    },
    capabilities: {
      ...(template.memory_gb !== null && { memory_gb: template.memory_gb }),
      gpu_count: template.gpus,
      python_entrypoint: template.worker.includes('--allow-python'),
      catalog: flagValues(template.worker, '--catalog').length > 0,
    },
    version: { ...(python !== undefined && { python }), packages: libraries },
  };
}

const trueFor = (labels: readonly string[]) => Object.fromEntries(labels.map((label) => [label, 'true']));

/** What is given to a flag, as `--flag VALUE` or `--flag=VALUE`. */
function flagValues(flags: readonly string[], name: string): string[] {
  return flags.flatMap((flag, i) => {
    if (flag.startsWith(`${name}=`)) return [flag.slice(name.length + 1)];
    return flag === name ? [flags[i + 1] ?? ''] : [];
  });
}

/** Seconds of a new allocation in which tasks can run. */
export const usefulSeconds = ({ walltime, ending }: Template): number =>
  walltime === null ? Infinity : walltime - ending;

/**
 * Why a worker of the template could not run what is wanted, each reason as people read it; empty where it could.
 * @param profile what its workers declare
 */
export function whyNot(
  template: Template,
  profile: WorkerProfile,
  { requirements, seconds }: Pick<DemandGroup, 'requirements' | 'seconds'>,
): string[] {
  const useful = usefulSeconds(template);
  const isForGpus = template.gpus > 0 && !requirements.min_gpu_count;
  const isTooLong = seconds !== null && seconds > useful;
  return [
    ...(isForGpus ? ['has GPUs, which are kept for what asks for them'] : []),
    ...unmet(requirements, profile).map((words) => `does not have ${words}`),
    ...(isTooLong
      ? [`is too short: of its walltime ${useful} s are for tasks, and one may take ${Math.ceil(seconds)} s`]
      : []),
  ];
}
