import { createHash } from 'node:crypto';
import { jsonFingerprint } from '../../../machines/json/canonical.ts';
import { at } from '../../../machines/json/raw.ts';
import { PipelineRef } from '../../../machines/schema/job.ts';
import { validator } from '../../../machines/schema/validate.ts';
import { hashOf } from '../../shared/file-bytes.ts';
import { InputError, WorkerError } from '../errors.ts';
import { writeText } from '../files.ts';
import type { InputContext } from './input-context.ts';
import { existingPath, missingHere, singleFolderIn } from './paths.ts';

/** The pipeline as the spec file of the runner protocol names it. */
export type LocalPipeline =
  | { mode: 'path'; path: string }
  | { mode: 'entrypoint'; entrypoint: string; sys_path: string[] };

/**
 * What identifies a pipeline (docs/protocol.md#fingerprints). Code says little of the pipeline that it builds, so there
 * the runner may know better; what this worker can tell is the code itself.
 */
export interface Fingerprints {
  /** Of the very pipeline that runs. */
  fixed?: string;
  /** Of the code that builds it, for a runner that tells none. */
  fallback?: string;
}

export interface PlacedPipeline {
  local: LocalPipeline;
  fingerprints: Fingerprints;
}

const check = validator(PipelineRef);

/**
 * @param inline where one is written that the job itself holds
 * @throws InputError
 */
export async function placePipeline(context: InputContext, inline: string): Promise<PlacedPipeline> {
  const checked = check(context.lease.payload.pipeline);
  if (!checked.ok) {
    const fault = checked.faults[0];
    throw new InputError(`this worker cannot take the pipeline: ${fault?.path} ${fault?.message}`);
  }
  const ref = checked.value;
  switch (ref.kind) {
    case 'path': {
      const path = await existingPath(ref.path, 'the pipeline', 'file');
      const fixed = await fileFingerprint(path).catch((error: unknown) => {
        throw missingHere(error, ref.path, 'the pipeline');
      });
      return { local: { mode: 'path', path }, fingerprints: { fixed } };
    }
    case 'artifact': {
      const { artifacts, folder, persistence } = context;
      const wanted = { id: ref.artifact_id, folder, name: 'pipeline', archive: null, persistence };
      const { path, sha256 } = await artifacts.place(wanted);
      return { local: { mode: 'path', path }, fingerprints: { fixed: `sha256:${sha256}` } };
    }
    case 'inline_json':
      return placeInline(context, inline);
    case 'python_entrypoint':
      return placeEntrypoint(context, ref);
  }
}

/** The text as the client wrote it: no number is rewritten. */
async function placeInline({ lease }: InputContext, path: string): Promise<PlacedPipeline> {
  const text = at(lease.text, 'pipeline', 'inline') ?? 'null';
  await writeText(path, text);
  return { local: { mode: 'path', path }, fingerprints: { fixed: jsonFingerprint(text) } };
}

async function placeEntrypoint(
  context: InputContext,
  ref: { entrypoint: string; bundle_artifact_id?: string },
): Promise<PlacedPipeline> {
  if (!context.allowPython) {
    throw new WorkerError(
      'this worker runs no python_entrypoint pipelines (it was started without --allow-python)',
    );
  }
  const entrypoint = ref.entrypoint.includes(':') ? ref.entrypoint : `${ref.entrypoint}:build_pipeline`;
  // Without a bundle the code is whatever is installed here.
  if (ref.bundle_artifact_id === undefined) {
    return { local: { mode: 'entrypoint', entrypoint, sys_path: [] }, fingerprints: {} };
  }
  const { path: bundle, sha256 } = await context.artifacts.place({
    id: ref.bundle_artifact_id,
    folder: context.folder,
    name: 'bundle',
    archive: 'the pipeline bundle',
    persistence: context.persistence,
  });
  // The module may lie at the top or, where somebody packed the folder around it, one level below.
  const inner = await singleFolderIn(bundle);
  return {
    local: { mode: 'entrypoint', entrypoint, sys_path: inner ? [bundle, inner] : [bundle] },
    fingerprints: { fallback: codeFingerprint(entrypoint, sha256) },
  };
}

/** Over the entry point, a line end, and the hex digest of the bundle: either of them can change the pipeline. */
const codeFingerprint = (entrypoint: string, sha256: string): string =>
  `sha256:${createHash('sha256').update(`${entrypoint}\n${sha256}`).digest('hex')}`;

const fileFingerprint = async (path: string): Promise<string> => `sha256:${await hashOf(path)}`;
