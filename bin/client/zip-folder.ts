import { createWriteStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';

/** The same for every entry, so that equal folders make equal bytes, which the server keeps once. */
const MODIFIED = new Date(Date.UTC(1980, 0, 2));

/**
 * Packs the files of a folder, links followed, hidden ones and Python's caches left out; the same content gives
 * the same bytes.
 * @returns how many files it has packed
 */
export async function zipFolder(folder: string, target: string): Promise<number> {
  return zipFiles(await filesOf(folder), folder, target);
}

/** Packs one file, under its own name. */
export const zipFile = (path: string, target: string): Promise<number> =>
  zipFiles([path], dirname(path), target);

async function zipFiles(files: readonly string[], folder: string, target: string): Promise<number> {
  const zip = new ZipFile();
  const written = pipeline(zip.outputStream, createWriteStream(target, { flags: 'wx' }));
  // Should a file vanish meanwhile, the stream fails; nobody must miss that before it is awaited.
  written.catch(() => {});
  zip.on('error', (fault) =>
    (zip.outputStream as NodeJS.ReadableStream & { destroy(e: unknown): void }).destroy(fault),
  );
  for (const path of files) {
    const name = relative(folder, path).split(sep).join('/');
    zip.addFile(path, name, { mtime: MODIFIED, mode: 0o100644 });
  }
  zip.end();
  await written;
  return files.length;
}

async function filesOf(folder: string): Promise<string[]> {
  const found: string[] = [];
  const isKept = (name: string) => !name.startsWith('.') && name !== '__pycache__';
  const names = (await readdir(folder)).filter(isKept).sort();
  for (const name of names) {
    const path = join(folder, name);
    const kind = await stat(path);
    if (kind.isDirectory()) found.push(...(await filesOf(path)));
    else if (kind.isFile()) found.push(path);
  }
  return found;
}
