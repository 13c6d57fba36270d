import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isLeftover } from '../../shared/file-names.ts';

const BLOCK = 1 << 20;

/**
 * What tells the data of a folder or file from other data: SHA-256, in hex, of the lines that `sha256sum` writes of its
 * files, sorted by their names. Hidden files and what file managers leave behind do not count.
 */
export function dataHash(path: string): string {
  const isFolder = statSync(path).isDirectory();
  const files = isFolder ? filesIn(path) : [basename(path)];
  const hash = createHash('sha256');
  for (const name of files.sort(byBytes)) {
    hash.update(`${fileHash(isFolder ? join(path, name) : path)}  ${name}\n`);
  }
  return hash.digest('hex');
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

function filesIn(folder: string, prefix = ''): string[] {
  return readdirSync(folder).flatMap((name) => {
    if (isLeftover(name)) return [];
    const path = join(folder, name);
    const found = statSync(path);
    if (found.isDirectory()) return filesIn(path, `${prefix}${name}/`);
    return found.isFile() ? [`${prefix}${name}`] : [];
  });
}

function fileHash(path: string): string {
  const hash = createHash('sha256');
  const block = Buffer.allocUnsafe(BLOCK);
  const file = openSync(path, 'r');
  try {
    for (let read = readSync(file, block); read > 0; read = readSync(file, block)) {
      hash.update(block.subarray(0, read));
    }
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}
