import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the installation, with a separator at its end. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Where bundles are kept: each in a folder of its own, and `current` names the one that counts. */
export const BUNDLES = join(ROOT, '.bundle');
export const CURRENT = join(BUNDLES, 'current');

/** What is made of the sources when npm packs them: an installed package has this, and no sources. */
export const PACKED = join(ROOT, 'dist/code');

/** What is loaded by itself: the programs, the runner of `mljs.run`, and what reads bodies beside a server. */
export const ENTRIES = {
  programs: 'bin/main.ts',
  mljs: 'actors/worker/runners/mljs/main.ts',
  parser: 'gateway/http/parsing/child.ts',
};

/**
 * The files that an entry of a bundle was made from, and those that it consists of; paths from the root. The project's
 * own sources and the manifests of the packages are known by their content, all together. The others, which are many
 * and which nobody edits, by size and by the time of their last change.
 * @typedef {{ read: string[], digest: string, others: Record<string, [size: number, mtimeMs: number]> }} Parts
 */

/** @param {readonly Uint8Array[]} contents */
export function digestOf(contents) {
  const hash = createHash('sha256');
  for (const bytes of contents) hash.update(bytes);
  return hash.update(contents.map(({ length }) => length).join()).digest('base64url');
}

/**
 * Size and time of the last change; undefined for what is not there.
 * @param {string} path
 * @returns {[size: number, mtimeMs: number] | undefined}
 */
export function statOf(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && [found.size, found.mtimeMs];
}
