import { type JobSettings, matrixOf, settingsOf, type TaskMatrix } from './decompose.ts';
import { compact } from './json/raw.ts';
import type { JobSpec } from './schema/job.ts';
import { datasetsOf, type JobSize, pipelinesOf, sizeOf, unknownMembers } from './submission.ts';

/**
 * All that the queue needs of a specification, without its pipelines, datasets and parameters, which it keeps as text.
 * It is quick to copy from one thread to another, however large the specification is.
 */
export interface JobDigest {
  /** The specification as compact JSON text, numbers as written. */
  text: string;
  type: string;
  name: string | null;
  idempotency_key: string | null;
  settings: JobSettings;
  size: JobSize;
  matrix: TaskMatrix;
  /** Whether a pipeline names the fingerprint that it expects. */
  pins_fingerprint: boolean;
  /** The artifacts that it names: their ids, and beside each the place where it stands. */
  artifacts: { ids: string[]; paths: string[] };
  warnings: string[];
}

/** @param text the JSON text of the specification, valid as it is */
export function digestJob(spec: JobSpec, text: string): JobDigest {
  return {
    text: compact(text),
    type: spec.type,
    name: spec.name ?? null,
    idempotency_key: spec.idempotency_key ?? null,
    settings: settingsOf(spec),
    size: sizeOf(spec),
    matrix: matrixOf(spec),
    pins_fingerprint: pipelinesOf(spec).some(
      (p) => p.kind === 'inline_json' && p.expected_fingerprint !== undefined,
    ),
    artifacts: artifactsOf(spec),
    warnings: unknownMembers(spec),
  };
}

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
