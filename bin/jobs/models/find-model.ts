import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { suggestPaths } from '../../../actors/shared/suggest-paths.ts';
import { fileNameIn } from '../../../actors/worker/inputs/download.ts';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { libraryOf } from '../../../machines/schema/job-types.ts';
import { usageError } from '../../cli/exit.ts';
import { findJob } from '../find/find-job.ts';
import { taskFound } from '../find/find-task.ts';
import { readModelFile } from './model-file.ts';

/** A model that a person named. */
export type FoundModel =
  | { kind: 'file'; path: string; label?: string }
  | { kind: 'artifact'; id: string; filename: string | null; label?: string; library?: string }
  | { kind: 'job'; id: string; name: string | null; library: string; bestModel: string | null };

/** By the ending of a model file, whose it is. */
const LIBRARIES: Readonly<Record<string, string>> = { '.json': 'mljs', '.n4a': 'nirs4all' };

/** The library of a model, as far as it is known: that of its job, or by the ending of its file. */
export function libraryFor(model: FoundModel): string | undefined {
  if (model.kind === 'job') return model.library;
  if (model.kind === 'artifact' && model.library !== undefined) return model.library;
  const name = model.kind === 'file' ? model.path : (model.filename ?? '');
  return LIBRARIES[extname(name).toLowerCase()];
}

/**
 * The model that a text means: a file of this machine, the id of an artifact, or a job, of which it is the best; with
 * `task`, that of one of its tasks.
 * @throws CliError where there is no such thing, or several
 */
export async function findModel(client: ClusterClient, text: string, task?: string): Promise<FoundModel> {
  const file = await fileAt(text);
  if (task !== undefined && (file !== null || isArtifactId(text)))
    throw usageError(`--task names a task of a job, and '${text}' is no job`);
  if (file !== null) return { ...file, ...(await sourceOf(client, file.path)) };
  if (isArtifactId(text)) {
    return { kind: 'artifact', id: text, filename: fileNameIn(await client.artifactHeaders(text)) };
  }
  const id = await findJob(client, text);
  const { name, type, aggregate } = await client.call('getJob', { params: { id } });
  const library = libraryOf(type);
  if (task === undefined)
    return { kind: 'job', id, name, library, bestModel: aggregate.best_model_artifact_id };
  return { ...(await modelOf(client, { id, name }, task)), library };
}

/** Of the job that made a model file, where it says so, and that job is on this server. */
async function sourceOf(client: ClusterClient, path: string): Promise<{ label?: string }> {
  const said = await readModelFile(path).catch(() => null);
  if (!said?.task) return {};
  const { job_id } = said.task;
  const [job] = await client.call('listJobs', { query: { ref: job_id, limit: 1 } });
  return job?.id === job_id ? { label: `model of ${titleOf(job)}` } : {};
}

const shortly = (id: string): string => `…${id.slice(-8)}`;
const titleOf = ({ id, name }: { id: string; name: string | null }): string => name ?? shortly(id);

const isArtifactId = (text: string): boolean => /^art_\w+$/.test(text);

/** Null for what does not look like a file. @throws CliError for a path at which there is none */
export async function fileAt(text: string): Promise<Extract<FoundModel, { kind: 'file' }> | null> {
  const found = await stat(text).catch(() => null);
  if (found?.isFile()) return { kind: 'file', path: text };
  const isPath = /[\\/]/.test(text) || extname(text).toLowerCase() in LIBRARIES;
  if (!isPath) return null;
  if (found) throw usageError(`${text} is a directory, and no model file`);
  throw usageError(`there is no file ${text}${await suggestPaths(text)}`, 'is the path right, from here?');
}

async function modelOf(client: ClusterClient, job: { id: string; name: string | null }, task: string) {
  const { id: task_id, name } = await taskFound(client, job.id, task);
  const artifacts = await client.call('listJobArtifacts', { params: { id: job.id }, query: { task_id } });
  const model = artifacts.find((artifact) => artifact.role === 'model' && artifact.task_id === task_id);
  if (!model)
    throw usageError(`task ${task_id} has kept no model`, `see what it has: jqctl artifacts ${job.id}`);
  const label = `${name ?? `task ${shortly(task_id)}`} of ${titleOf(job)}`;
  return { kind: 'artifact' as const, id: model.id, filename: model.filename, label };
}

/** What stands for it in lists, where it has no better name. */
export function labelFor(model: FoundModel): string | undefined {
  if (model.kind === 'file') return model.label ?? basename(model.path, extname(model.path));
  if (model.kind === 'artifact') return model.label;
  return `best of ${titleOf(model)}`;
}
