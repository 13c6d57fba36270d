import { elements, members } from '../../../../machines/json/raw.ts';
import { yamlToJson } from '../../../../machines/json/yaml.ts';
import { InputError } from '../../errors.ts';
import { type Location, locatePath, locateUrl } from './source.ts';

/** One version of a dataset, as the index of a catalog lists it. */
export interface CatalogEntry {
  id: string;
  version: string;
  /** Hex digest of the file's bytes. */
  sha256: string;
  /** A file; one whose name ends with `.zip` is unpacked. */
  location: Location;
}

/**
 * Reads the index of a catalog: a JSON or YAML list of `{id, version, url or path, sha256}`. Only the entries of
 * one id are looked at, so that a mistake in another hurts nobody.
 * @param index where the text comes from; relative addresses and paths count from there
 * @throws InputError
 */
export function entriesOf(text: string, id: string, index: Location): CatalogEntry[] {
  return entriesIn(text)
    .map(membersOf)
    .filter((entry) => entry.get('id') === id)
    .map((entry) => checked(entry, id, index));
}

/** What is wrong with each entry of an index. @throws InputError for what is no index */
export function faultsOf(text: string, index: Location): string[] {
  return entriesIn(text).flatMap((entry, i) => {
    const members = membersOf(entry);
    const id = members.get('id');
    if (!id) return [`entry ${i + 1} of the catalog has no id`];
    try {
      checked(members, id, index);
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });
}

function entriesIn(text: string): string[] {
  const json = asJson(text);
  if (json.trimStart().startsWith('[')) return elements(json);
  throw new InputError('the catalog is not a list of {id, version, url or path, sha256}');
}

/** The ids that an index lists, in its order. */
export function idsOf(text: string): string[] {
  const ids = elements(asJson(text)).flatMap((entry) => membersOf(entry).get('id') ?? []);
  return [...new Set(ids)];
}

function asJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    // YAML, then. JSON is read first for the tabs that YAML refuses.
  }
  try {
    return yamlToJson(text);
  } catch (error) {
    throw new InputError(`the catalog is neither JSON nor YAML: ${(error as Error).message}`);
  }
}

/** Texts, and numbers as they are written: version 1.10 is not 1.1. */
function membersOf(entry: string): Map<string, string> {
  const texts = [...members(entry)].flatMap(([key, value]): [string, string][] => {
    if (value.startsWith('"')) return [[key, JSON.parse(value) as string]];
    return /^[-\d]/.test(value) ? [[key, value]] : [];
  });
  return new Map(texts);
}

function checked(entry: Map<string, string>, id: string, index: Location): CatalogEntry {
  const version = entry.get('version');
  if (!version) throw new InputError(`the catalog gives no version for '${id}'`);
  const what = `the catalog's entry of ${id}@${version}`;
  const sha256 =
    entry
      .get('sha256')
      ?.toLowerCase()
      .replace(/^sha256:/, '') ?? '';
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new InputError(`${what} has no sha256 of 64 hex digits`);
  const [url, path] = [entry.get('url'), entry.get('path')];
  if (Boolean(url) === Boolean(path)) throw new InputError(`${what} must have either url or path`);
  const location = url ? locateUrl(url, index, what) : locatePath(path as string, index, what);
  return { id, version, sha256, location };
}
