import { createHash } from 'node:crypto';
import { extname } from 'node:path/posix';
import { canonicalJson, jsonFingerprint } from '../json/canonical.ts';
import { at, elements, members } from '../json/raw.ts';
import type { DatasetRef, JobSpec, ModelRef, PipelineRef } from '../schema/job.ts';
import { DEFAULT_TYPE, libraryOf } from '../schema/job-types.ts';
import { outputsOf } from './decompose.ts';
import { datasetsOf, pipelinesOf } from './submission.ts';

/**
 * What the tasks of a job are made of, as far as it is known by content: two tasks with the same contents compute the
 * same, up to the version of the library and what is left to chance. A path says nothing of what lies there, and code
 * without a bundle is whatever a worker has installed. Texts alone, so that it is quick to copy.
 */
export interface JobContents {
  /** Hash of what all tasks have in common. */
  common: string;
  /** In their order; null where the content is not known. */
  pipelines: (Part | null)[];
  datasets: (Part | null)[];
}

/** A pipeline or a dataset: what is said of it, and the artifact whose bytes it is made of. */
interface Part {
  said: string;
  artifact: string | null;
}

/** An uploaded file, as far as it counts. */
export interface StoredFile {
  sha256: string;
  filename: string | null;
}

/**
 * Null where no task of the job is known by its content.
 * @param text the JSON text of the specification: numbers count as they are written
 */
export function contentsOf(spec: JobSpec, text: string): JobContents | null {
  const datasets = datasetsOf(spec).map(datasetPart);
  if (datasets.every((part) => part === null)) return null;
  try {
    const top = members(text);
    const several = present(top.get('pipelines'));
    const written = several === undefined ? [top.get('pipeline') ?? 'null'] : elements(several);
    const pipelines = spec.model
      ? [modelPart(spec.model)]
      : pipelinesOf(spec).map((ref, i) => pipelinePart(ref, written[i] as string));
    if (pipelines.every((part) => part === null)) return null;
    return { common: commonOf(spec, top), pipelines, datasets };
  } catch (error) {
    // Nested deeper than a fingerprint reads.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const present = (text: string | undefined): string | undefined => (text === 'null' ? undefined : text);

function commonOf(spec: JobSpec, top: ReadonlyMap<string, string>): string {
  const type = spec.type ?? DEFAULT_TYPE;
  // Which versions of other packages it may run with. The library's own is compared by itself.
  const { [libraryOf(type)]: _, ...packages } = spec.requirements?.packages ?? {};
  const native = present(top.get('native_payload')) ?? present(top.get('nativePayload')) ?? 'null';
  return hashOf([
    type,
    canonicalJson(present(top.get('params')) ?? '{}'),
    JSON.stringify(outputsOf(spec.outputs)),
    canonicalJson(native),
    canonicalJson(JSON.stringify(packages)),
    // Variants are computed otherwise than the same pipeline by itself.
    ...(spec.select || spec.decompose ? ['variant'] : []),
  ]);
}

function pipelinePart(ref: PipelineRef, written: string): Part | null {
  switch (ref.kind) {
    case 'inline_json':
      return { said: `inline ${jsonFingerprint(at(written, 'inline') ?? 'null')}`, artifact: null };
    case 'artifact':
      return { said: 'file', artifact: ref.artifact_id };
    case 'python_entrypoint': {
      if (ref.bundle_artifact_id === undefined) return null;
      const entrypoint = ref.entrypoint.includes(':') ? ref.entrypoint : `${ref.entrypoint}:build_pipeline`;
      return { said: `code ${entrypoint}`, artifact: ref.bundle_artifact_id };
    }
    case 'path':
      return null;
  }
}

/** Of the best of a job it is known once the server has found it. */
export const modelPart = (ref: ModelRef): Part => ({ said: 'model', artifact: ref.artifact_id ?? null });

function datasetPart(ref: DatasetRef): Part | null {
  if (ref.kind === 'artifact') return { said: 'zip', artifact: ref.artifact_id };
  if (ref.kind === 'catalog' && ref.sha256 !== undefined) {
    return { said: `catalog ${ref.sha256}`, artifact: null };
  }
  return null;
}

/**
 * By its place in the matrix, the content of a task as a short text; null where it is not known. What an artifact holds
 * counts, not which it is.
 */
export function contentKeys(
  { common, pipelines, datasets }: JobContents,
  files: ReadonlyMap<string, StoredFile>,
): (place: number) => string | null {
  const read = (part: Part | null) => part && inWords(part, files);
  const [first, second] = [pipelines.map(read), datasets.map(read)];
  return (place) => {
    const dataset = place % second.length;
    const pipeline = first[(place - dataset) / second.length];
    const data = second[dataset];
    return pipeline && data ? hashOf([common, pipeline, data]) : null;
  };
}

function inWords({ said, artifact }: Part, files: ReadonlyMap<string, StoredFile>): string | null {
  if (artifact === null) return said === 'model' ? null : said;
  const file = files.get(artifact);
  if (!file) return null;
  // By the end of its name a runner tells how to read a pipeline.
  return `${said} ${file.sha256}${said === 'file' ? extname(file.filename ?? '') : ''}`;
}

/** Of the task that refits a variant, by what that is made of. */
export const refitKey = (variant: string | null): string | null =>
  variant === null ? null : hashOf(['refit', variant]);

const hashOf = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
