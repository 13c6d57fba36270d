import { createWriteStream } from 'node:fs';
import path, { basename, type PlatformPath } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { filesOf } from './folder-files.ts';

/**
 * The same for every entry, so that equal folders make equal bytes, which the server keeps once: archives hold times of
 * the clock on the wall, and beside them, unless told otherwise, when that was.
 */
const MODIFIED = { mtime: new Date(1980, 0, 2), forceDosTimestamp: true };

/**
 * Packs the files of a folder; the same content gives the same bytes.
 * @returns how many files it has packed, and what it has left out
 */
export async function zipFolder(
  folder: string,
  target: string,
): Promise<{ files: number; leftOut: readonly string[] }> {
  const { files, leftOut } = await filesOf(folder);
  await zipFiles(new Map(files.map((file) => [entryName(folder, file), file])), target);
  return { files: files.length, leftOut };
}

/** The name of a file in an archive of its folder, which has slashes whatever the system has. */
export const entryName = (folder: string, file: string, rules: PlatformPath = path): string =>
  rules.relative(folder, file).split(rules.sep).join('/');

/** Packs one file, under its own name. */
export const zipFile = (file: string, target: string): Promise<void> =>
  zipFiles(new Map([[basename(file), file]]), target);

/** @param files paths by their names in the archive */
async function zipFiles(files: ReadonlyMap<string, string>, target: string): Promise<void> {
  const zip = new ZipFile();
  const written = pipeline(zip.outputStream, createWriteStream(target, { flags: 'wx' }));
  // Should a file vanish meanwhile, the stream fails; nobody must miss that before it is awaited.
  written.catch(() => {});
  zip.on('error', (fault) =>
    (zip.outputStream as NodeJS.ReadableStream & { destroy(e: unknown): void }).destroy(fault),
  );
  for (const [name, file] of files) zip.addFile(file, name, { ...MODIFIED, mode: 0o100644 });
  zip.end();
  await written;
}
