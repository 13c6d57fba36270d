import { type JobSettings, matrixOf, settingsOf, type TaskMatrix } from './decompose.ts';
import { meaningOf } from './job-meaning.ts';
import { compact } from './json/raw.ts';
import { DEFAULT_TYPE, type JobSpec } from './schema/job.ts';
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
  /** The artifacts that it names: their ids, and beside each the place where it stands. */
  artifacts: { ids: string[]; paths: string[] };
  warnings: string[];
}

/** @param text the JSON text of the specification, valid as it is */
export function digestJob(spec: JobSpec, text: string): JobDigest {
  const written = compact(text);
  return {
    text: written,
    type: spec.type ?? DEFAULT_TYPE,
    name: spec.name ?? null,
    idempotency_key: spec.idempotency_key ?? null,
    meaning: spec.idempotency_key === undefined ? null : meaningOf(spec, written),
    settings: settingsOf(spec),
    size: sizeOf(spec),
    matrix: matrixOf(spec),
    pins_fingerprint: pipelinesOf(spec).some(
      (p) => p.kind === 'inline_json' && p.expected_fingerprint !== undefined,
    ),
    is_dag: pipelinesOf(spec).some((p) => p.kind === 'inline_json' && isDag(p.inline)),
    artifacts: artifactsOf(spec),
    warnings: [...unknownMembers(spec), ...oddFingerprints(spec)],
  };
}

/**
 * Whether an inline pipeline is a graph of steps (contract, "Jobs"): an object under `dagml` or `dag`, or a step that
 * names those before it.
 */
function isDag(inline: unknown): boolean {
  if (!isObject(inline)) return false;
  const own = (key: string) => (Object.hasOwn(inline, key) ? inline[key] : undefined);
  if (isObject(own('dagml')) || isObject(own('dag'))) return true;
  const steps = Array.isArray(own('pipeline')) ? own('pipeline') : own('steps');
  return (
    Array.isArray(steps) &&
    steps.some((step) => isObject(step) && (Object.hasOwn(step, 'after') || Object.hasOwn(step, 'deps')))
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function artifactsOf(spec: JobSpec): JobDigest['artifacts'] {
  const found: JobDigest['artifacts'] = { ids: [], paths: [] };
  const add = (id: string, path: string) => {
    found.ids.push(id);
    found.paths.push(path);
  };
  for (const [i, ref] of pipelinesOf(spec).entries()) {
    const place = spec.pipelines ? `/pipelines/${i}` : '/pipeline';
    if (ref.kind === 'artifact') add(ref.artifact_id, `${place}/artifact_id`);
    if (ref.kind === 'python_entrypoint' && ref.bundle_artifact_id !== undefined)
      add(ref.bundle_artifact_id, `${place}/bundle_artifact_id`);
  }
  for (const [i, ref] of datasetsOf(spec).entries()) {
    if (ref.kind === 'artifact')
      add(ref.artifact_id, `${spec.datasets ? `/datasets/${i}` : '/dataset'}/artifact_id`);
  }
  return found;
}
