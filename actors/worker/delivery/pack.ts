import { createWriteStream } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { AttemptPaths } from '../attempt/paths.ts';
import { openPlain, readFew, UnfitFileError } from '../files.ts';
import { syncPath } from './durable.ts';
import type { OutboxFile } from './outbox.ts';
import type { OutputFile } from './outputs.ts';

export interface Wanted {
  /** What is kept of the output directory. */
  outputs: readonly OutputFile[];
  workspace: boolean;
  /** Whether the task has said nothing at all, so that its log need not be read. */
  emptyLog: boolean;
  /** Whether small files are to travel with the report: their bytes are kept with the outcome. */
  small: boolean;
}

/**
 * Bytes of all files together that travel with a report, with their names and what each costs beside them: an empty file is
 * not for nothing, and a report takes only so many.
 */
const SMALL = 32 * 1024;
const EACH = 33;

/**
 * Gathers the files of an attempt that go to the server, made durable; the workspace is packed. What a task has put
 * in the place of a file, such as a link or a pipe, does not go.
 * @param onFault told what could not be gathered; the rest goes without it
 */
export async function pack(
  paths: AttemptPaths,
  wanted: Wanted,
  onFault: (what: string, error: Error) => void,
): Promise<OutboxFile[]> {
  const gathered: OutboxFile[] = [];
  let left = wanted.small ? SMALL : -1;
  const take = async (file: Pick<OutboxFile, 'role' | 'filename'> & { path: string }) => {
    try {
      const room = left - EACH - Buffer.byteLength(file.filename ?? '');
      const bytes = await readOrSync(paths.base, file.path, room);
      if (bytes) left = room - bytes.byteLength;
      const content = bytes && { content: bytes.toString('base64') };
      gathered.push({ ...file, path: relative(paths.root, file.path), ...content });
    } catch (error) {
      onFault(file.filename ?? file.role, error as Error);
    }
  };
  if (wanted.emptyLog && wanted.small)
    gathered.push({ role: 'logs', path: basename(paths.log), content: '' });
  else await take({ role: 'logs', path: paths.log });
  for (const file of wanted.outputs) await take(file);
  if (wanted.workspace) {
    try {
      // An archive of nothing tells nothing.
      if ((await zipFolder(paths.workspace, paths.archive, paths.base)) > 0) {
        await take({ role: 'workspace', path: paths.archive });
      }
    } catch (error) {
      onFault('workspace', error as Error);
    }
  }
  if (gathered.some(({ content }) => content === undefined)) await syncPath(paths.root);
  return gathered;
}

/** Reads a file of at most so many bytes; a larger one is made to survive a crash of the machine. */
async function readOrSync(base: string, path: string, most: number): Promise<Buffer | null> {
  const bytes = readFew(base, path, most);
  if (bytes) return bytes;
  const file = await openPlain(base, path);
  await file.sync().finally(() => file.close());
  return null;
}

/** Bytes that are packed at most, as much as a dataset may have: a file may say that it is longer than any disk. */
const MOST_PACKED = 10 * 1024 ** 3;

/**
 * Packs the plain files and folders below a folder; links and the like stay out. Gives the number of files.
 * @throws UnfitFileError for more than ten GiB
 * @param base what no link below is followed of; see `openPlain`
 */
export async function zipFolder(folder: string, archive: string, base = folder): Promise<number> {
  const zip = new ZipFile();
  const packed = zip.outputStream as Readable;
  zip.on('error', (error: Error) => packed.destroy(error));
  // Whatever a task has put there: it is neither followed nor waited for.
  await rm(archive, { recursive: true, force: true });
  const writing = pipeline(packed, createWriteStream(archive, { flags: 'wx' }));
  const [files] = await Promise.all([addAll(zip, packed, folder, base), writing]);
  return files;
}

async function addAll(zip: ZipFile, packed: Readable, folder: string, base: string): Promise<number> {
  let [files, bytes] = [0, 0];
  try {
    for await (const { path, isFolder } of walk(folder)) {
      if (!isFolder) {
        files++;
        bytes += (await lstat(path)).size;
        if (bytes > MOST_PACKED) throw new UnfitFileError(`it has more than ${MOST_PACKED} bytes`);
      }
      const name = relative(folder, path);
      if (isFolder) zip.addEmptyDirectory(name);
      else {
        zip.addReadStreamLazy(name, (give) => {
          openPlain(base, path).then(
            (file) => give(null, file.createReadStream()),
            (error: Error) => give(error, undefined as never),
          );
        });
      }
    }
    zip.end();
    return files;
  } catch (error) {
    packed.destroy(error as Error);
    throw error;
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
