import { validRange } from '@renovatebot/pep440';
import { distance } from 'fastest-levenshtein';
import type { TSchema } from 'typebox';
import { ClusterError } from './errors.ts';
import { DatasetRef, JobSpec, MAX_TASKS, PipelineRef, SILENT_MEMBERS } from './schema/job.ts';
import type { Fault } from './schema/validate.ts';

const MAX_WARNINGS = 100;

export const pipelinesOf = (spec: JobSpec): PipelineRef[] =>
  spec.pipelines ?? (spec.pipeline ? [spec.pipeline] : []);
export const datasetsOf = (spec: JobSpec): DatasetRef[] =>
  spec.datasets ?? (spec.dataset ? [spec.dataset] : []);

/**
 * Refuses what the schema cannot: faults between members, and what this server does not allow.
 * @throws ClusterError `python_jobs_disabled`, `invalid_body` with all faults, or `too_many_tasks`
 */
export function admitJob(spec: JobSpec, allow: { allowPythonJobs: boolean }): void {
  const faults = [
    ...exactlyOne(spec, 'pipeline', 'pipelines'),
    ...exactlyOne(spec, 'dataset', 'datasets'),
    ...datasetFaults(spec),
    ...constraintFaults(spec),
  ];
  if (faults.length > 0) throw ClusterError.invalid('job', faults);
  if (!allow.allowPythonJobs && pipelinesOf(spec).some((p) => p.kind === 'python_entrypoint')) {
    throw new ClusterError(
      'python_jobs_disabled',
      'python_entrypoint pipelines are refused: the server runs without --allow-python-jobs',
    );
  }
  const count = pipelinesOf(spec).length * datasetsOf(spec).length;
  if (count > MAX_TASKS) {
    throw new ClusterError(
      'too_many_tasks',
      `the job makes ${count} tasks; at most ${MAX_TASKS} are allowed`,
      [{ path: '/pipelines', message: `times /datasets makes ${count} tasks, more than ${MAX_TASKS}` }],
    );
  }
}

function exactlyOne(spec: JobSpec, one: 'pipeline' | 'dataset', many: 'pipelines' | 'datasets'): Fault[] {
  if (spec[one] !== undefined && spec[many] !== undefined) {
    return [{ path: `/${many}`, message: `give either '${one}' or '${many}', not both` }];
  }
  if (spec[one] === undefined && spec[many] === undefined) {
    return [{ path: `/${one}`, message: `is required (or '${many}' for several)` }];
  }
  return [];
}

function datasetFaults(spec: JobSpec): Fault[] {
  return datasetsOf(spec).flatMap((dataset, i) => {
    if (dataset.kind !== 'worker_local' || dataset.path !== undefined || dataset.name !== undefined)
      return [];
    const path = spec.datasets ? `/datasets/${i}` : '/dataset';
    return [{ path, message: "a worker_local dataset needs 'path' or 'name'" }];
  });
}

function constraintFaults(spec: JobSpec): Fault[] {
  return Object.entries(spec.requirements?.packages ?? {}).flatMap(([name, constraint]) =>
    constraint.trim() === '' || validRange(constraint)
      ? []
      : [
          {
            path: `/requirements/packages/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
            message: `'${constraint}' is not a version constraint (PEP 440, such as '>=1.2,<2')`,
          },
        ],
  );
}

/** A sentence for each member that this system does not know, with the nearest one that it does. */
export function unknownMembers(spec: JobSpec): string[] {
  const warnings = new Set<string>();
  const look = (value: unknown, schema: TSchema, prefix: string, silent: readonly string[] = []) => {
    if (typeof value !== 'object' || value === null) return;
    const known = Object.keys((schema as { properties?: object }).properties ?? {});
    for (const key of Object.keys(value)) {
      if (known.includes(key) || silent.includes(key) || warnings.size >= MAX_WARNINGS) continue;
      const near = nearest(key, known);
      warnings.add(`unknown field '${prefix}${key}'${near ? `, did you mean '${prefix}${near}'?` : ''}`);
    }
  };
  const branch = (union: TSchema, kind: string): TSchema =>
    (union as { anyOf?: { properties?: { kind?: { const?: string } } }[] }).anyOf?.find(
      (b) => b.properties?.kind?.const === kind,
    ) ?? union;
  const top = JobSpec.properties;
  look(spec, JobSpec, '', SILENT_MEMBERS);
  look(spec.requirements, top.requirements, 'requirements.');
  look(spec.outputs, top.outputs, 'outputs.');
  look(spec.retry, top.retry, 'retry.');
  for (const p of pipelinesOf(spec)) look(p, branch(PipelineRef, p.kind), 'pipeline.');
  for (const d of datasetsOf(spec)) look(d, branch(DatasetRef, d.kind), 'dataset.');
  return [...warnings];
}

/** The known word that a person probably meant, or undefined when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known.map((k) => [distance(word.toLowerCase(), k.toLowerCase()), k] as const);
  ranked.sort(([a], [b]) => a - b);
  const best = ranked[0];
  return best && best[0] <= Math.ceil(word.length / 3) ? best[1] : undefined;
}
