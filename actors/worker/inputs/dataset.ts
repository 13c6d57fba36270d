import { mkdir, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatasetRef } from '../../../machines/schema/job.ts';
import { validator } from '../../../machines/schema/validate.ts';
import { InputError, WorkerError } from '../errors.ts';
import type { InputContext } from './input-context.ts';
import { existingPath, singleFolderIn } from './paths.ts';

const check = validator(DatasetRef);

/** The path of the dataset on this machine. @throws InputError */
export async function placeDataset(context: InputContext): Promise<string> {
  const checked = check(context.lease.payload.dataset);
  if (!checked.ok) {
    const fault = checked.faults[0];
    throw new InputError(`this worker cannot take the dataset: ${fault?.path} ${fault?.message}`);
  }
  const ref = checked.value;
  switch (ref.kind) {
    case 'shared_path':
      return existingPath(ref.path, 'the dataset', 'any');
    case 'artifact':
      return unpacked(context, ref.artifact_id);
    case 'worker_local':
      return localDataset(context, ref);
    case 'catalog':
      return catalogued(context, ref);
  }
}

async function unpacked(context: InputContext, id: string): Promise<string> {
  const { artifacts, folder, persistence } = context;
  const archive = `the dataset (artifact ${id})`;
  const { path } = await artifacts.place({ id, folder, name: 'dataset', archive, persistence });
  return (await singleFolderIn(path)) ?? path;
}

async function catalogued(
  { catalog, folder, persistence, hold, note }: InputContext,
  { catalog_id: id, sha256 }: { catalog_id: string; sha256?: string },
) {
  if (!catalog) {
    throw new WorkerError(
      `this worker has no catalog; it cannot resolve '${id}' (jq-worker --catalog FILE|URL names one)`,
    );
  }
  const { entry, path, name, held } = await catalog.use(id, persistence);
  const what = `dataset ${entry.id}@${entry.version}`;
  hold(what, held);
  if (sha256 !== undefined && entry.sha256 !== sha256) {
    throw new InputError(
      `the job asks for '${id}' with sha256 ${sha256}; in the catalog ${entry.id}@${entry.version} has ${entry.sha256}`,
    );
  }
  note(`${what}, sha256 ${entry.sha256}`);
  return named(path, join(folder, name));
}

/** A path by whose last part libraries call the dataset; in the cache it may lie under the name of another one. */
async function named(path: string, wanted: string): Promise<string> {
  if (basename(path) === basename(wanted)) return path;
  await mkdir(dirname(wanted), { recursive: true });
  // Of Windows: a junction is a link to a folder that everybody may make.
  await symlink(path, wanted, (await stat(path)).isDirectory() ? 'junction' : 'file');
  return wanted;
}

/** One that lies on this worker: by its path, or by the name that its owner gave it. */
async function localDataset(
  { datasets }: InputContext,
  { path, name }: { path?: string; name?: string },
): Promise<string> {
  if (path !== undefined) return existingPath(path, 'the dataset', 'any');
  const declared = name !== undefined && Object.hasOwn(datasets, name) ? datasets[name] : undefined;
  if (declared === undefined) {
    throw new WorkerError(
      `this worker has no dataset '${name}' (jq-worker --dataset NAME=PATH declares one)`,
    );
  }
  return existingPath(declared, `dataset '${name}'`, 'any').catch((error: Error) => {
    // The job names no path; that this one is gone is the worker's own matter.
    throw error instanceof WorkerError ? new WorkerError(error.message, { own: true, cause: error }) : error;
  });
}
