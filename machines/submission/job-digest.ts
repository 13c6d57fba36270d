import { compact } from '../json/raw.ts';
import type { JobSpec, ModelRef } from '../schema/job.ts';
import { DEFAULT_TYPE } from '../schema/job-types.ts';
import { contentsOf, type JobContents } from './contents.ts';
import { type JobSettings, matrixOf, settingsOf, type TaskMatrix } from './decompose.ts';
import { meaningOf } from './job-meaning.ts';
import {
  datasetsOf,
  type JobSize,
  oddFingerprints,
  pipelinesOf,
  sizeOf,
  unknownMembers,
} from './submission.ts';

/**
 * All that the queue needs of a specification, without its pipelines, datasets and parameters, which it keeps as text.
 * It is quick to copy from one process to another, however large the specification is.
 */
export interface JobDigest {
  /** The specification as compact JSON text, numbers as written. */
  text: string;
  type: string;
  name: string | null;
  note: string | null;
  /** Each once. */
  tags: string[];
  idempotency_key: string | null;
  /** What the specification means, hashed; null without a key, since nobody compares it then. */
  meaning: string | null;
  settings: JobSettings;
  size: JobSize;
  matrix: TaskMatrix;
  /** Whether a pipeline names the fingerprint that it expects. */
  pins_fingerprint: boolean;
  /** Whether a pipeline is a graph of steps. */
  is_dag: boolean;
  /** What it predicts with; null where it runs pipelines. */
  model: ModelRef | null;
  /** The artifacts that it names: their ids, and beside each the place where it stands. */
  artifacts: { ids: string[]; paths: string[] };
  /** Whose results its tasks may be answered with. */
  reuse: Reuse | null;
  /** How long it stays after its end; null: as long as the server keeps jobs. */
  keep: string | null;
  /** The job of which it is a repeated or changed submission, as its client says. */
  resubmitted_from: string | null;
  /** What its tasks are made of; null where that is not known by content. */
  contents: JobContents | null;
  warnings: string[];
}

/** Results of the same owner, or of everybody. */
export type Reuse = 'own' | 'any';

/** @param text the JSON text of the specification, valid as it is */
export function digestJob(spec: JobSpec, text: string): JobDigest {
  const written = compact(text);
  const inline = pipelinesOf(spec).filter((pipeline) => pipeline.kind === 'inline_json');
  return {
    text: written,
    type: spec.type ?? DEFAULT_TYPE,
    name: spec.name ?? null,
    note: spec.note || null,
    tags: [...new Set(spec.tags)],
    idempotency_key: spec.idempotency_key ?? null,
    meaning: spec.idempotency_key === undefined ? null : meaningOf(spec, written),
    settings: settingsOf(spec),
    size: sizeOf(spec),
    matrix: matrixOf(spec),
    pins_fingerprint: inline.some(({ expected_fingerprint }) => expected_fingerprint !== undefined),
    is_dag: inline.some(({ inline }) => isDag(inline)),
    model: spec.model ?? null,
    artifacts: artifactsOf(spec),
    reuse: reuseOf(spec),
    keep: spec.keep ?? null,
    resubmitted_from: spec.resubmitted_from ?? null,
    contents: contentsOf(spec, written),
    warnings: [...unknownMembers(spec), ...oddFingerprints(spec)],
  };
}

const reuseOf = ({ reuse = false }: JobSpec): Reuse | null =>
  reuse === false ? null : reuse === 'any' ? 'any' : 'own';

/**
 * Whether an inline pipeline is a graph of steps (docs/protocol.md#views-of-jobs-and-tasks): an object under `dagml` or
 * `dag`, or a step that names those before it.
 */
function isDag(inline: unknown): boolean {
  if (!isObject(inline)) return false;
  if (isObject(own(inline, 'dagml')) || isObject(own(inline, 'dag'))) return true;
  const pipeline = own(inline, 'pipeline');
  const steps = Array.isArray(pipeline) ? pipeline : own(inline, 'steps');
  return (
    Array.isArray(steps) &&
    steps.some((step) => isObject(step) && (Object.hasOwn(step, 'after') || Object.hasOwn(step, 'deps')))
  );
}

const own = (value: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(value, key) ? value[key] : undefined;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function artifactsOf(spec: JobSpec): JobDigest['artifacts'] {
  const ids: string[] = [];
  const paths: string[] = [];
  for (const [i, ref] of pipelinesOf(spec).entries()) {
    const isBundle = ref.kind === 'python_entrypoint';
    const id = isBundle ? ref.bundle_artifact_id : ref.kind === 'artifact' ? ref.artifact_id : undefined;
    if (id === undefined) continue;
    ids.push(id);
    const place = spec.pipelines ? `/pipelines/${i}` : '/pipeline';
    paths.push(`${place}/${isBundle ? 'bundle_artifact_id' : 'artifact_id'}`);
  }
  if (spec.model?.kind === 'artifact') {
    ids.push(spec.model.artifact_id);
    paths.push('/model/artifact_id');
  }
  for (const [i, ref] of datasetsOf(spec).entries()) {
    if (ref.kind !== 'artifact') continue;
    ids.push(ref.artifact_id);
    paths.push(`${spec.datasets ? `/datasets/${i}` : '/dataset'}/artifact_id`);
  }
  return { ids, paths };
}
