import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hashOf } from '../../../shared/file-bytes.ts';

/** Files and folders below a folder, or the file itself, with what the system says of them. */
export interface Member {
  /** Below the folder, with `/`; empty for what was asked for itself. */
  name: string;
  path: string;
  stats: BigIntStats;
}

/** Looked at, at the same time: the system's files have few threads. */
const AT_ONCE = 16;

/** What lies at a path, by name; links and the like as what they are. @throws the system's error */
export async function membersOf(path: string, name = ''): Promise<Member[]> {
  const stats = await lstat(path, { bigint: true });
  const self = { name, path, stats };
  if (!stats.isDirectory()) return [self];
  const names = (await readdir(path)).sort();
  const below = (entry: string) => membersOf(join(path, entry), name === '' ? entry : `${name}/${entry}`);
  const found: Member[] = [self];
  for (let from = 0; from < names.length; from += AT_ONCE) {
    found.push(...(await Promise.all(names.slice(from, from + AT_ONCE).map(below))).flat());
  }
  return found;
}

/**
 * A text that changes with every way to write to a file or a folder, to replace, add or remove one: it has what the
 * system notes of each by itself. The time of the last change (ctime) nobody can set back.
 */
export function stampOf(members: readonly Member[]): string {
  const hash = createHash('sha256');
  for (const { name, stats } of members) {
    const { mode, size, ino, mtimeNs, ctimeNs } = stats;
    hash.update(`${JSON.stringify(name)} ${mode} ${size} ${ino} ${mtimeNs} ${ctimeNs}\n`);
  }
  return hash.digest('hex');
}

/** A digest of names and bytes: the same for the same data, wherever it lies. @throws the system's error */
export async function contentOf(members: readonly Member[]): Promise<string> {
  const hash = createHash('sha256');
  for (const { name, path, stats } of members) {
    const is = stats.isFile() ? await hashOf(path) : stats.isDirectory() ? 'folder' : 'neither';
    hash.update(`${JSON.stringify(name)} ${is}\n`);
  }
  return hash.digest('hex');
}

export const bytesOf = (members: readonly Member[]): number =>
  members.reduce((sum, { stats }) => sum + (stats.isFile() ? Number(stats.size) : 0), 0);
