import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isLeftover } from '../../../../shared/file-names.ts';
import { suggestPathsSync } from '../../../../shared/suggest-paths.ts';
import { InputError } from '../../../errors.ts';
import { few } from './words.ts';

/** The files of a dataset: spectra and reference values apart, or one table with both. */
export interface DatasetFiles {
  train: TableFiles;
  test: TableFiles | null;
}
export type TableFiles = { x: string; y: string } | { both: string };

export const IS_TABLE = /\.(csv|tsv|txt)$/i;
/** What files of training and of test samples are called, `train_x` as well as `Xtrain`, `X_cal` or `calX`. */
export const SETS = { train: ['train', 'cal'], test: ['test', 'val'] } as const;

/**
 * Finds the tables of a dataset folder: `train_x` and `train_y`, or `train`, or the only table that there is; beside
 * them `test_x` and `test_y`, or `test`; all of them also as nirs4all names them. A path to a file is one table.
 *
 * @throws InputError that names what is there instead
 */
export function findTables(path: string): DatasetFiles {
  if (!existsSync(path)) throw new InputError(`dataset not found: ${path}${suggestPathsSync(path)}`);
  if (!statSync(path).isDirectory()) return { train: { both: path }, test: null };
  const names = readdirSync(path).filter((name) => !isLeftover(name));
  const tables = names.filter((name) => IS_TABLE.test(name)).sort();
  const named = (...stems: string[]) => {
    const found = tables.filter((name) => stems.includes(stemOf(name)));
    if (found.length > 1)
      throw new InputError(`${path} has both ${found[0]} and ${found[1]}; keep one of them`);
    return found[0] === undefined ? null : join(path, found[0]);
  };
  const part = (set: keyof typeof SETS, xy: string) =>
    named(...SETS[set].flatMap((word) => [word + xy, xy + word])) ?? (set === 'train' ? named(xy) : null);
  const pick = (set: keyof typeof SETS): TableFiles | null => {
    const [x, y, both] = [part(set, 'x'), part(set, 'y'), named(...SETS[set])];
    if (x && y) return { x, y };
    if (x || y) {
      const [there, missing] = x ? [x, `${set}_y`] : [y as string, `${set}_x`];
      throw new InputError(
        `${basename(there)} is there but ${missing}.csv is missing in ${path}${listing(names)}`,
      );
    }
    return both ? { both } : null;
  };
  const test = pick('test');
  const train =
    pick('train') ?? (tables.length === 1 && !test ? { both: join(path, tables[0] as string) } : null);
  if (!train) throw new InputError(`data file not found: ${join(path, 'train_x.csv')}${listing(names)}`);
  return { train, test };
}

/** The name of a table without its ending, and without what stands between its words. */
const stemOf = (name: string): string =>
  name
    .replace(IS_TABLE, '')
    .toLowerCase()
    .replaceAll(/[_\- ]/g, '');

function listing(names: readonly string[]): string {
  return names.length === 0 ? '; the folder is empty' : `; the folder has ${few([...names].sort())}`;
}
