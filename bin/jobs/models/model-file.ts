import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { openPromise, type ZipFile } from 'yauzl';
import { ABOUT_MEMBER, unitIn } from '../../../actors/worker/runners/about-model.ts';
import { axisOf } from '../../../actors/worker/runners/mljs/data/axis-match.ts';
import { CliError, EXIT, usageError } from '../../cli/exit.ts';
import { localError } from '../../cli/local-error.ts';
import { factsIn, type ModelFacts } from './model-facts.ts';

/** What of a model file is read at most, in bytes. */
const MOST_BYTES = 256 * 1024 * 1024;

/**
 * What a model file says of itself: one of mljs, or a bundle of nirs4all, also of versions that said less.
 * @throws CliError where the file cannot be read, or is no model that says what it is
 */
export async function readModelFile(path: string, name = path): Promise<ModelFacts> {
  try {
    const facts = (await isZip(path)) ? await inBundle(path) : await inJson(path);
    if (facts !== null) return facts;
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw usageError(`cannot read ${localError(error) ?? `${name}: ${(error as Error).message}`}`);
  }
  throw new CliError(EXIT.usage, `${basename(name)} is no model that says what it is`, {
    hint: 'models of mljs (.json) and bundles of nirs4all (.n4a) do',
  });
}

async function isZip(path: string): Promise<boolean> {
  const bundle = await openPromise(path, { lazyEntries: true }).catch(() => null);
  bundle?.close();
  return bundle !== null;
}

async function inBundle(path: string): Promise<ModelFacts | null> {
  const bundle = await openPromise(path, { lazyEntries: true });
  try {
    const found = await membersOf(bundle, [ABOUT_MEMBER, 'manifest.json']);
    const facts = factsIn(objectIn(found.get(ABOUT_MEMBER)));
    if (facts !== null) return facts;
    const manifest = objectIn(found.get('manifest.json'));
    if (typeof manifest?.nirs4all_version !== 'string') return null;
    return { library: 'nirs4all', version: manifest.nirs4all_version };
  } finally {
    bundle.close();
  }
}

async function membersOf(bundle: ZipFile, names: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const entry of bundle.eachEntry()) {
    if (!names.includes(entry.fileName) || entry.uncompressedSize > MOST_BYTES) continue;
    found.set(entry.fileName, await text(await bundle.openReadStreamPromise(entry)));
  }
  return found;
}

/** Those of mljs from before `about` say the same under other names. */
async function inJson(path: string): Promise<ModelFacts | null> {
  const { size } = await stat(path);
  if (size > MOST_BYTES) return null;
  const model = objectIn(await readFile(path, 'utf8'));
  if (model?.format !== 'mljs.run model') return null;
  const facts = factsIn(objectIn(JSON.stringify(model.about ?? null)));
  if (facts !== null) return facts;
  const names = Array.isArray(model.wavelengths) ? model.wavelengths.map(String) : null;
  const target = typeof model.target === 'string' ? model.target : null;
  return {
    library: 'mljs',
    version: typeof model.mljs_version === 'string' ? model.mljs_version : null,
    axis: axisOf(names),
    columns: typeof model.input_columns === 'number' ? model.input_columns : null,
    targets: [{ name: target, unit: unitIn(target) }],
    training: { samples: typeof model.training_rows === 'number' ? model.training_rows : null, sha256: null },
  };
}

function objectIn(content: string | undefined): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(content ?? '');
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
