import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUNDLES, CURRENT, digestOf, ROOT, statOf } from './places.js';

/**
 * The folder of the current bundle, provided that everything that it was made from for this entry, and everything that
 * it consists of, is as it was then; undefined otherwise. Reads a few hundred small files: about 20 milliseconds.
 * @param {string} entry
 */
export function findBundle(entry) {
  try {
    const folder = join(BUNDLES, readFileSync(CURRENT, 'utf8'));
    /** @type {import('./places.js').Parts} */
    const { read, digest, others } = JSON.parse(readFileSync(join(folder, `${entry}.json`), 'utf8'));
    for (const path in others) {
      const [size, mtimeMs] = others[path];
      const found = statOf(ROOT + path);
      if (found?.[0] !== size || found[1] !== mtimeMs) return undefined;
    }
    return digestOf(read.map((path) => readFileSync(ROOT + path))) === digest ? folder : undefined;
  } catch {
    // None yet, or a damaged one.
    return undefined;
  }
}
