import { createWriteStream } from 'node:fs';
import { basename, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { filesOf } from './folder-files.ts';

/** The same for every entry, so that equal folders make equal bytes, which the server keeps once. */
const MODIFIED = new Date(Date.UTC(1980, 0, 2));

/**
 * Packs the files of a folder; the same content gives the same bytes.
 * @returns how many files it has packed, and what it has left out
 */
export async function zipFolder(
  folder: string,
  target: string,
): Promise<{ files: number; leftOut: readonly string[] }> {
  const { files, leftOut } = await filesOf(folder);
  const nameOf = (path: string) => relative(folder, path).split(sep).join('/');
  await zipFiles(new Map(files.map((path) => [nameOf(path), path])), target);
  return { files: files.length, leftOut };
}

/** Packs one file, under its own name. */
export const zipFile = (path: string, target: string): Promise<void> =>
  zipFiles(new Map([[basename(path), path]]), target);

/** @param files paths by their names in the archive */
async function zipFiles(files: ReadonlyMap<string, string>, target: string): Promise<void> {
  const zip = new ZipFile();
  const written = pipeline(zip.outputStream, createWriteStream(target, { flags: 'wx' }));
  // Should a file vanish meanwhile, the stream fails; nobody must miss that before it is awaited.
  written.catch(() => {});
  zip.on('error', (fault) =>
    (zip.outputStream as NodeJS.ReadableStream & { destroy(e: unknown): void }).destroy(fault),
  );
  for (const [name, path] of files) zip.addFile(path, name, { mtime: MODIFIED, mode: 0o100644 });
  zip.end();
  await written;
}
