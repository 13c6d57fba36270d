import { existsSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findBundle } from './find.js';
import { ENTRIES, PACKED, ROOT } from './places.js';

/**
 * Loads an entry: in a package, what npm packed; else from the bundle where that is made from the very sources and
 * packages that are there; else from the sources, which takes about a second.
 * @param {keyof typeof ENTRIES} entry
 * @param {{ makes?: boolean }} [options] `makes`: where there is no such bundle, one is made first
 */
export async function load(entry, { makes = false } = {}) {
  if (!existsSync(join(ROOT, ENTRIES[entry]))) return loadFrom(PACKED, entry);
  const folder = findBundle(entry) ?? (makes ? await madeBundle(entry) : undefined);
  if (folder !== undefined) {
    try {
      return await loadFrom(folder, entry);
    } catch {
      // What is wrong with it is wrong with the sources as well, or with the bundle alone.
    }
  }
  const { register } = await import('tsx/esm/api');
  register();
  return import(pathToFileURL(join(ROOT, ENTRIES[entry])).href);
}

/**
 * @param {string} folder
 * @param {string} entry
 */
function loadFrom(folder, entry) {
  // Since Node.js 22.8; what V8 made of the code is kept with it.
  module.enableCompileCache?.(join(folder, 'compiled'));
  return import(pathToFileURL(join(folder, `${entry}.js`)).href);
}

/** @param {string} entry */
async function madeBundle(entry) {
  try {
    const { makeBundle } = await import('./make.js');
    await makeBundle();
    return findBundle(entry);
  } catch {
    // A folder that cannot be written, a package that is missing, a source that says nonsense: the sources will tell.
    return undefined;
  }
}
