import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isLeftover } from '../../../../shared/file-names.ts';
import { suggestPathsSync } from '../../../../shared/suggest-paths.ts';
import { InputError } from '../../../errors.ts';
import { IS_TABLE, SETS } from './files.ts';
import { few } from './words.ts';

/** Spectra that are to be predicted, with their reference values in another file, in the same, or nowhere. */
export type NewFiles = { x: string; y: string | null } | { both: string };

/** `x`, `NAME_x`, or as in `Xval` and `valX`; what of the name is the `x`. */
const SPECTRA = [/^(?:.+_)?(x)$/d, /^(?:train|cal|test|val)(x)$/d, /^(x)[_\- ]?(?:train|cal|test|val)$/d];
const USUAL_ORDER = Object.values(SETS);

/**
 * Finds what is to be predicted: every `NAME_x` of a folder, with its `NAME_y` where that is there, `x` and `y` alike;
 * else `train` and `test`; else the only table that there is. A path to a file is one table.
 *
 * @throws InputError that names what is there instead
 */
export function findNewTables(path: string): NewFiles[] {
  if (!existsSync(path)) throw new InputError(`dataset not found: ${path}${suggestPathsSync(path)}`);
  if (!statSync(path).isDirectory()) return [{ both: path }];
  const names = readdirSync(path).filter((name) => !isLeftover(name));
  const tables = new Map(
    names
      .filter((name) => IS_TABLE.test(name))
      .map((name) => [name.replace(IS_TABLE, '').toLowerCase(), name]),
  );
  const at = (stem: string) => (tables.has(stem) ? join(path, tables.get(stem) as string) : null);
  const spectra = [...tables.keys()].filter((stem) => placeOfX(stem) !== null).sort(inUsualOrder);
  if (spectra.length > 0) {
    return spectra.map((stem) => ({ x: at(stem) as string, y: at(valuesOf(stem)) }));
  }
  const whole = USUAL_ORDER.flatMap(([stem]) => at(stem) ?? []);
  if (whole.length > 0) return whole.map((both) => ({ both }));
  const [only, ...others] = tables.values();
  if (only !== undefined && others.length === 0) return [{ both: join(path, only) }];
  const there = names.length === 0 ? 'the folder is empty' : `the folder has ${few([...names].sort())}`;
  throw new InputError(`no spectra found in ${path}, such as test_x.csv, or one table alone; ${there}`);
}

function placeOfX(stem: string): number | null {
  for (const pattern of SPECTRA) {
    const place = pattern.exec(stem)?.indices?.[1]?.[0];
    if (place !== undefined) return place;
  }
  return null;
}

/** What the file of reference values is called that goes with one of spectra. */
function valuesOf(stem: string): string {
  const place = placeOfX(stem) as number;
  return `${stem.slice(0, place)}y${stem.slice(place + 1)}`;
}

function inUsualOrder(a: string, b: string): number {
  const place = (stem: string) => {
    const found = USUAL_ORDER.findIndex((words) => words.some((word) => stem.includes(word)));
    return found < 0 ? USUAL_ORDER.length : found;
  };
  return place(a) - place(b) || (a < b ? -1 : 1);
}
