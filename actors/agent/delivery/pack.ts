import { createWriteStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { RunPaths } from '../paths.ts';
import { syncPath } from './durable.ts';
import type { OutboxFile } from './outbox.ts';

export interface Wanted {
  model: boolean;
  workspace: boolean;
}

/**
 * Gathers the files of an attempt that go to the server, made durable; the workspace is packed.
 * @param onFault told what could not be packed; the rest goes without it
 */
export async function pack(
  paths: RunPaths,
  wanted: Wanted,
  onFault: (fault: Error) => void,
): Promise<OutboxFile[]> {
  const found: { role: OutboxFile['role']; path: string }[] = [];
  if (await isFile(paths.log)) found.push({ role: 'logs', path: paths.log });
  const model = wanted.model ? await bestModel(paths.output) : undefined;
  if (model !== undefined) found.push({ role: 'model', path: model });
  if (wanted.workspace) {
    await zipFolder(paths.workspace, paths.archive).then(
      // An archive of nothing tells nothing.
      (files) => files > 0 && found.push({ role: 'workspace', path: paths.archive }),
      onFault,
    );
  }
  for (const { path } of found) await syncPath(path);
  await syncPath(paths.root);
  return found.map(({ role, path }) => ({ role, path: relative(paths.root, path) }));
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );

/** `best_model.*` of the output dir (contract, "The runner protocol"); of several, the first by name. */
async function bestModel(folder: string): Promise<string | undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isFile() && entry.name.startsWith('best_model.'));
  const first = names.map((entry) => entry.name).sort()[0];
  return first === undefined ? undefined : join(folder, first);
}

/** Packs the plain files and folders below a folder; links and the like stay out. Gives the number of files. */
export async function zipFolder(folder: string, archive: string): Promise<number> {
  const zip = new ZipFile();
  const packed = zip.outputStream as Readable;
  zip.on('error', (fault: Error) => packed.destroy(fault));
  const writing = pipeline(packed, createWriteStream(archive));
  const [files] = await Promise.all([addAll(zip, packed, folder), writing]);
  return files;
}

async function addAll(zip: ZipFile, packed: Readable, folder: string): Promise<number> {
  let files = 0;
  try {
    for await (const { path, isFolder } of walk(folder)) {
      if (!isFolder) files++;
      const name = relative(folder, path);
      if (isFolder) zip.addEmptyDirectory(name);
      else zip.addFile(path, name);
    }
    zip.end();
    return files;
  } catch (fault) {
    packed.destroy(fault as Error);
    throw fault;
  }
}

async function* walk(folder: string): AsyncGenerator<{ path: string; isFolder: boolean }> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      yield { path, isFolder: true };
      yield* walk(path);
    } else if (entry.isFile()) yield { path, isFolder: false };
  }
}
