import { execFile } from 'node:child_process';
import { hostname, totalmem } from 'node:os';
import { promisify } from 'node:util';
import type { Static } from 'typebox';
import { PACKAGE_VERSION } from '../../../gateway/version.ts';
import { DATASET_LABEL } from '../../../machines/schema/job.ts';
import { PREDICT_LABEL } from '../../../machines/schema/job-types.ts';
import type { WorkerRegistration } from '../../../machines/schema/worker.ts';
import type { Settings } from '../config.ts';

const GIB = 1024 ** 3;
const NVIDIA_TIMEOUT_MS = 10_000;

export type Declaration = Omit<Static<typeof WorkerRegistration>, 'worker_id'>;

/** What the worker says of itself, and the server matches tasks against (docs/protocol.md#workers-and-leases). */
export async function declarationOf(settings: Settings): Promise<Declaration> {
  const { ending, datasets, labels, memoryGb, gpus, name, slots, runners, python, allowPython, catalog } =
    settings;
  const declared = [
    ...Object.keys(datasets).map((dataset) => `${DATASET_LABEL}${dataset}`),
    ...runners.flatMap(({ library, predicts }) => (predicts ? [`${PREDICT_LABEL}${library}`] : [])),
  ].map((label) => [label, 'true']);
  return {
    name: name ?? hostname(),
    labels: { ...labels, ...Object.fromEntries(declared) },
    capabilities: {
      memory_gb: memoryGb ?? Number((totalmem() / GIB).toFixed(2)),
      gpu_count: gpus ?? (await countGpus()),
      // Tasks that need one of these go to no worker that says no.
      python_entrypoint: allowPython,
      catalog: catalog !== undefined,
      libraries: runners.map((runner) => runner.library),
      ...(ending.givesBackAt !== null && { ends_at: ending.givesBackAt }),
    },
    slots_total: slots,
    version: {
      node: process.versions.node,
      ...(python && { python: python.version }),
      platform: `${process.platform}-${process.arch}`,
      cluster: PACKAGE_VERSION,
      packages: Object.assign({}, python?.packages, ...runners.map((runner) => runner.packages)),
    },
  };
}

/** The lines of `nvidia-smi -L`; 0 where there is no such program or no driver. */
export async function countGpus(program = 'nvidia-smi'): Promise<number> {
  try {
    const { stdout } = await promisify(execFile)(program, ['-L'], { timeout: NVIDIA_TIMEOUT_MS });
    return stdout.split('\n').filter((line) => /^GPU \d+:/.test(line)).length;
  } catch {
    return 0;
  }
}
