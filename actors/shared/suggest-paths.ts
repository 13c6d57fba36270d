import { opendirSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { didYouMean, nearest } from '../../machines/protocol/nearest.ts';
import { isLeftover } from './file-names.ts';

/** Entries that are looked at, and named: a folder may have millions. */
const MOST_SEEN = 1000;
const MOST_NAMED = 5;

/**
 * What lies where something is missing, as the end of a sentence: the name that was probably meant, or what there is;
 * empty where the folder is missing as well, or cannot be read.
 */
export async function suggestPaths(path: string): Promise<string> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(dirname(path))) if (names.push(name) >= MOST_SEEN) break;
  } catch {
    return '';
  }
  return sentence(path, names);
}

/** The same at once, for programs that have nothing else to do. */
export function suggestPathsSync(path: string): string {
  const names: string[] = [];
  try {
    const folder = opendirSync(dirname(path));
    for (let entry = folder.readSync(); entry && names.length < MOST_SEEN; entry = folder.readSync())
      names.push(entry.name);
    folder.closeSync();
  } catch {
    return '';
  }
  return sentence(path, names);
}

function sentence(path: string, names: readonly string[]): string {
  const folder = dirname(path);
  const there = names.filter((name) => !isLeftover(name)).sort();
  const near = nearest(basename(path), there);
  if (near !== undefined) return didYouMean(`${folder === '.' ? '' : `${folder}/`}${near}`);
  const where = folder === '.' ? 'this folder' : folder;
  if (there.length === 0) return `; ${where} is empty`;
  const more = there.length > MOST_NAMED ? ` and ${there.length - MOST_NAMED} more` : '';
  return `; ${where} has ${there.slice(0, MOST_NAMED).join(', ')}${more}`;
}
