import type { TSchema } from 'typebox';
import { ClusterError } from '../protocol/errors.ts';
import { LIMITS } from '../protocol/limits.ts';
import { didYouMean, nearest } from '../protocol/nearest.ts';
import {
  DatasetRef,
  JobSpec,
  MAX_TASKS,
  ModelRef,
  PipelineRef,
  Select,
  SILENT_MEMBERS,
} from '../schema/job.ts';

/** Characters of a member's name that a warning repeats. */
const LONGEST_WORD = 100;

export const pipelinesOf = (spec: JobSpec): PipelineRef[] =>
  spec.pipelines ?? (spec.pipeline ? [spec.pipeline] : []);
export const datasetsOf = (spec: JobSpec): DatasetRef[] =>
  spec.datasets ?? (spec.dataset ? [spec.dataset] : []);

/** What decides whether a job is taken. */
export interface JobSize {
  /** A model counts as one. */
  pipelines: number;
  datasets: number;
  /** Whether it brings code of its own. */
  runsCode: boolean;
}

export function sizeOf(spec: JobSpec): JobSize {
  const pipelines = pipelinesOf(spec);
  const runsCode = pipelines.some(({ kind }) => kind === 'python_entrypoint');
  return { pipelines: spec.model ? 1 : pipelines.length, datasets: datasetsOf(spec).length, runsCode };
}

/**
 * Refuses a valid job that this server does not take.
 * @throws ClusterError `python_jobs_disabled` or `too_many_tasks`
 */
export function admitJob(size: JobSize, allow: { allowPythonJobs: boolean }): void {
  if (!allow.allowPythonJobs && size.runsCode) {
    throw new ClusterError(
      'python_jobs_disabled',
      'python_entrypoint pipelines are refused: the server runs without --allow-python-jobs',
    );
  }
  const count = size.pipelines * size.datasets;
  if (count > MAX_TASKS) {
    throw new ClusterError(
      'too_many_tasks',
      `the job makes ${count} tasks; at most ${MAX_TASKS} are allowed`,
      {
        faults: [
          {
            path: size.pipelines > 1 ? '/pipelines' : '/datasets',
            message: `makes ${count} tasks, more than ${MAX_TASKS}`,
          },
        ],
      },
    );
  }
}

/**
 * A sentence for each member that this system does not know, with the nearest one that it does; of more than the limit
 * (docs/protocol.md#limits) the rest as a count.
 */
export function unknownMembers(spec: JobSpec): string[] {
  const unknown = new UnknownMembers();
  unknown.look(spec, JOB_MEMBERS, '', SILENT);
  unknown.look(spec.requirements, REQUIREMENTS_MEMBERS, 'requirements.');
  unknown.look(spec.outputs, OUTPUTS_MEMBERS, 'outputs.');
  unknown.look(spec.retry, RETRY_MEMBERS, 'retry.');
  unknown.look(spec.select, SELECT_MEMBERS, 'select.');
  for (const p of pipelinesOf(spec)) unknown.look(p, PIPELINE_MEMBERS[p.kind] ?? NONE, 'pipeline.');
  if (spec.model) unknown.look(spec.model, MODEL_MEMBERS[spec.model.kind] ?? NONE, 'model.');
  for (const d of datasetsOf(spec)) unknown.look(d, DATASET_MEMBERS[d.kind] ?? NONE, 'dataset.');
  return unknown.warnings();
}

type Members = ReadonlySet<string>;
const membersOf = (schema: TSchema): Members =>
  new Set(Object.keys((schema as { properties?: object }).properties ?? {}));
/** By the kind that each branch of a union is for. */
const membersByKind = (union: TSchema): Record<string, Members> =>
  Object.fromEntries(
    (union as unknown as { anyOf: Branch[] }).anyOf.map((branch) => [
      branch.properties.kind.const,
      membersOf(branch),
    ]),
  );
type Branch = TSchema & { properties: { kind: { const: string } } };

const NONE: Members = new Set();
const SILENT: Members = new Set(SILENT_MEMBERS);
const JOB_MEMBERS = membersOf(JobSpec);
const REQUIREMENTS_MEMBERS = membersOf(JobSpec.properties.requirements);
const OUTPUTS_MEMBERS = membersOf(JobSpec.properties.outputs);
const RETRY_MEMBERS = membersOf(JobSpec.properties.retry);
const SELECT_MEMBERS = membersOf(Select);
const PIPELINE_MEMBERS = membersByKind(PipelineRef);
const MODEL_MEMBERS = membersByKind(ModelRef);
const DATASET_MEMBERS = membersByKind(DatasetRef);

/** Gathers what is not known. */
class UnknownMembers {
  readonly #warnings: string[] = [];
  readonly #seen = new Set<string>();

  /** @param silent known to mean nothing here */
  look(value: unknown, known: Members, prefix: string, silent: Members = NONE): void {
    if (typeof value !== 'object' || value === null) return;
    for (const key of Object.keys(value)) {
      if (!known.has(key) && !silent.has(key)) this.#add(prefix, key, known);
    }
  }

  warnings(): string[] {
    const more = this.#seen.size - LIMITS.warnings;
    if (more <= 0) return this.#warnings;
    return [...this.#warnings, `and ${more} more unknown field${more === 1 ? '' : 's'}`];
  }

  #add(prefix: string, key: string, known: Members): void {
    if (this.#seen.has(prefix + key)) return;
    this.#seen.add(prefix + key);
    if (this.#seen.size > LIMITS.warnings) return;
    const near = key.length <= LONGEST_WORD ? nearest(key, [...known]) : undefined;
    const shown = near || key.length <= LONGEST_WORD ? key : `${key.slice(0, LONGEST_WORD)}…`;
    this.#warnings.push(`unknown field '${prefix}${shown}'${near ? didYouMean(prefix + near) : ''}`);
  }
}

/** Wrong fingerprints beyond so many are reported as a count. */
const MOST_ODD = 10;

/** A sentence for each pinned fingerprint that no pipeline can have: the client computes them in another way. */
export function oddFingerprints(spec: JobSpec): string[] {
  const odd = pipelinesOf(spec).flatMap((ref) => {
    const expected = ref.kind === 'inline_json' ? ref.expected_fingerprint : undefined;
    return expected === undefined || /^sha256:[0-9a-f]{64}$/.test(expected) ? [] : [expected];
  });
  const sentences = odd
    .slice(0, MOST_ODD)
    .map(
      (expected) =>
        `expected_fingerprint '${expected.length > LONGEST_WORD ? `${expected.slice(0, LONGEST_WORD)}…` : expected}' ` +
        "can be no pipeline's: fingerprints are 'sha256:' and 64 hex digits",
    );
  return odd.length > MOST_ODD ? [...sentences, `and ${odd.length - MOST_ODD} more of that kind`] : sentences;
}
