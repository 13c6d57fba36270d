import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';

/** Licences that allow to pass the code on in a package of our own licence, with their text beside it. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];
const LINE = '-'.repeat(100);

/**
 * What has to be said of the packages that files belong to: name, version, licence, and the texts that they ask to be
 * passed on.
 * @param {readonly string[]} files paths; those outside of any package are the project's own
 * @throws Error for a package whose licence is not one of those allowed, or whose text is not in it
 */
export function notices(files) {
  const folders = new Set(files.map(folderOf).filter((folder) => folder !== undefined));
  const parts = [...folders].map((folder) => {
    const { name, version, license, homepage } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    );
    const title = `${name} ${version}`;
    if (!ALLOWED.includes(license)) throw new Error(`${title} is bundled, and its licence is ${license}`);
    const texts = textsIn(folder);
    if (texts.length === 0) throw new Error(`${title} is bundled, and has no text of its licence`);
    return [`${title} (${license})`, ...(homepage ? [homepage] : []), '', texts.join('\n\n')].join('\n');
  });
  const head = 'Packages of others whose code is in this one, with their licences.';
  return [head, ...parts.sort()].join(`\n\n${LINE}\n\n`).concat('\n');
}

/**
 * The texts of a package's licence: in files of their own, or as a section of its README.
 * @param {string} folder
 */
function textsIn(folder) {
  const read = (/** @type {string} */ file) => readFileSync(join(folder, file), 'utf8').trim();
  const files = readdirSync(folder).sort();
  const own = files
    .filter((file) => /^(licen[cs]e|copying|notice)(-\w+)?(\.(md|txt))?$/i.test(file))
    .map(read);
  if (own.length > 0) return own;
  const readmes = files.filter((file) => /^readme\b/i.test(file)).map(read);
  const sections = readmes.flatMap((text) => text.split(/^(?=#+ )/m));
  const licences = sections.filter((text) => /^#+ *Licen[cs]e\b/i.test(text));
  return licences.filter((text) => text.includes('Permission is hereby granted')).map((text) => text.trim());
}

/**
 * The folder of the package that a file belongs to.
 * @param {string} file
 */
function folderOf(file) {
  const path = realpathSync(file).replaceAll(sep, '/');
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
}
