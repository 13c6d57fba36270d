import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { build, stop } from 'esbuild';
import { bundleOf } from './bundler.js';
import { BUNDLES, CURRENT, digestOf, ENTRIES, ROOT, statOf } from './places.js';

/** A bundle depends on them besides what is in it. */
const MAKERS = ['package.json', 'bin/start/bundler.js', 'bin/start/make.js', 'bin/start/places.js'];
/** So many are kept: who was started from an older one may not have loaded all of it yet. */
const KEPT = 3;
/** When all files of a bundle were last changed, they say; one that is damaged later says something else. */
const MADE = new Date('2000-01-01T00:00:00Z');

/**
 * Makes a bundle of the sources and the packages, and makes it the current one. Whoever does the same at the same time,
 * or ends in the middle of it, disturbs nobody.
 * @throws Error when it cannot be made or written
 */
export async function makeBundle() {
  mkdirSync(BUNDLES, { recursive: true });
  const name = `${Date.now().toString(36)}-${process.pid.toString(36)}`;
  const folder = join(BUNDLES, name);
  mkdirSync(folder);
  try {
    await fill(folder);
    const pointer = join(folder, 'pointer');
    writeFileSync(pointer, name, { flush: true });
    renameSync(pointer, CURRENT);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  removeOld(name);
}

/** @param {string} folder */
async function fill(folder) {
  const began = Date.now();
  const sources = new Map(MAKERS.map((path) => [path, readFileSync(ROOT + path)]));
  const { metafile } = await build({
    ...bundleOf(sources),
    entryPoints: ENTRIES,
    outdir: folder,
    // For who starts Node.js with --enable-source-maps; nobody else pays for it.
    sourcemap: 'linked',
    sourcesContent: false,
  }).finally(stop);
  await Promise.all(Object.keys(metafile.outputs).map((path) => settle(ROOT + path)));
  for (const entry of Object.keys(ENTRIES)) {
    const parts = partsOf(entry, metafile, sources);
    // What changed while it was read may be in it as it was, or as it is.
    if (Object.values(parts.others).some(([, mtimeMs]) => mtimeMs >= began))
      throw new Error('a package changed');
    writeFileSync(join(folder, `${entry}.json`), JSON.stringify(parts), { flush: true });
  }
}

/**
 * What an entry was made from and consists of.
 * @param {string} entry
 * @param {import('esbuild').Metafile} metafile
 * @param {Map<string, Buffer>} sources
 * @returns {import('./places.js').Parts}
 */
function partsOf(entry, { inputs, outputs }, sources) {
  const [output] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === ENTRIES[entry]);
  const files = [...reached(ENTRIES[entry], inputs)];
  const packaged = files.filter((path) => !sources.has(path));
  const manifests = [...new Set(packaged.flatMap(manifestsOf))];
  const read = [...MAKERS, ...files.filter((path) => sources.has(path)), ...manifests];
  const others = [...packaged, ...reached(output, outputs)].map((path) => [path, statOf(ROOT + path)]);
  const contents = read.map((path) => sources.get(path) ?? readFileSync(ROOT + path));
  return { read, digest: digestOf(contents), others: Object.fromEntries(others) };
}

/**
 * The manifest of the package that a file belongs to, and the list that npm keeps beside it, which tells of packages
 * that came, and by which others are now found.
 * @param {string} path
 */
function manifestsOf(path) {
  const [, packages, name] =
    /^(.*\bnode_modules\/)((?:@[^/]+\/)?[^/]+)/.exec(join(ROOT, path).replaceAll(sep, '/')) ?? [];
  if (packages === undefined) return [];
  const files = [`${packages}${name}/package.json`, `${packages}.package-lock.json`];
  return files.filter(existsSync).map((file) => relative(ROOT, file).replaceAll(sep, '/'));
}

/**
 * A file and everything that it imports, at once or later.
 * @param {string} first
 * @param {Record<string, { imports: { path: string, external?: boolean }[] }>} files
 */
function reached(first, files) {
  const found = new Set([first]);
  for (const path of found) {
    for (const { path: next, external } of files[path]?.imports ?? []) if (!external) found.add(next);
  }
  return found;
}

/** Gives a file its time, and waits until the disk has it. */
async function settle(path) {
  const file = await open(path, 'r+');
  try {
    await file.utimes(MADE, MADE);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** @param {string} current */
function removeOld(current) {
  const isBundle = (name) => name !== current && name !== basename(CURRENT);
  const others = readdirSync(BUNDLES).filter(isBundle).sort();
  for (const name of others.slice(0, Math.max(0, others.length - KEPT + 1))) {
    rmSync(join(BUNDLES, name), { recursive: true, force: true });
  }
}
