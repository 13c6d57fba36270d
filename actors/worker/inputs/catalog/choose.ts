import { compare, valid } from '@renovatebot/pep440';
import { InputError } from '../../errors.ts';
import { type CatalogEntry, entriesOf, idsOf } from './index-list.ts';
import type { Location } from './source.ts';

const MOST_NAMES = 10;
const natural = new Intl.Collator('en', { numeric: true });

/**
 * The dataset that a `catalog_id` names: `name@version`, or `name` for its newest version (see `byVersion`). An id
 * that itself holds an `@` is found, too.
 * @throws InputError
 */
export function choose(text: string, catalogId: string, index: Location): CatalogEntry {
  const whole = entriesOf(text, catalogId, index);
  if (whole.length > 0) return only(whole.sort((a, b) => byVersion(b.version, a.version)));
  const cut = catalogId.lastIndexOf('@');
  const [id, version] = cut > 0 ? [catalogId.slice(0, cut), catalogId.slice(cut + 1)] : [catalogId, ''];
  const entries = cut > 0 ? entriesOf(text, id, index) : [];
  if (entries.length === 0) {
    throw new InputError(`the catalog has no dataset '${id}'; it has ${listed(idsOf(text))}`);
  }
  const found = entries.filter((entry) => entry.version === version);
  if (found.length > 0) return only(found);
  const versions = entries.map((entry) => entry.version).sort(byVersion);
  throw new InputError(`the catalog has no version '${version}' of '${id}'; it has ${listed(versions)}`);
}

/** The first; another of the same version must be the same bytes. */
function only(entries: CatalogEntry[]): CatalogEntry {
  const [first] = entries as [CatalogEntry];
  const other = entries.find(({ version, sha256 }) => version === first.version && sha256 !== first.sha256);
  if (!other) return first;
  throw new InputError(`the catalog lists ${first.id}@${first.version} twice, with different sha256`);
}

/**
 * Which version is newer: the order of package versions (PEP 440), so that 1.10 comes after 1.9 and 2.0rc1 before
 * 2.0. What is no such version comes before all that are, in natural order (`scan-9` before `scan-10`).
 */
export function byVersion(a: string, b: string): number {
  const [isA, isB] = [valid(a) !== null, valid(b) !== null];
  if (isA !== isB) return isA ? 1 : -1;
  return (isA ? compare(a, b) : 0) || natural.compare(a, b);
}

function listed(names: string[]): string {
  if (names.length === 0) return 'none';
  const rest = names.length > MOST_NAMES ? [`${names.length - MOST_NAMES} more`] : [];
  return [...names.slice(0, MOST_NAMES), ...rest].join(', ');
}
