import { InputError } from '../../../errors.ts';
import { didYouMean } from '../did-you-mean.ts';
import { isGrouped, isWord } from './numbers.ts';
import type { Table } from './table.ts';
import { few } from './words.ts';

/**
 * The column of the reference values.
 *
 * @param candidates columns that hold numbers and are neither ids nor a part of the spectrum
 * @param wanted name that the user gave (`params.target`), or null
 * @throws InputError that names the candidates where there are several, or none of that name
 */
export function chooseTarget(table: Table, candidates: readonly number[], wanted: string | null): number {
  const { source, header } = table;
  if (candidates.length === 0)
    throw new InputError(`${source} has no column of reference values${wordsIn(table)}`);
  if (wanted !== null && header) return named(table, candidates, wanted);
  if (candidates.length === 1) return candidates[0] as number;
  if (header === null) {
    throw new InputError(
      `${source} has ${candidates.length} columns and no header; keep one column, or name them and say params.target`,
    );
  }
  const names = few(candidates.map((j) => `"${header[j]}"`));
  throw new InputError(
    `${source} has ${candidates.length} columns of reference values, ${names}; params.target says which one is meant`,
  );
}

/** What there is instead. */
function wordsIn({ header, isText, cells }: Table): string {
  const column = isText.lastIndexOf(true);
  if (column < 0) return '';
  const name = header?.[column] ? `"${header[column]}"` : `column ${column + 1}`;
  const word = cells.map((row) => row[column] as string).findLast(isWord) ?? '';
  const marks = isGrouped(word) ? ', which has a mark for thousands' : '';
  return `: ${name} holds words, such as "${word.slice(0, 40)}"${marks}`;
}

function named({ source, header, isText }: Table, candidates: readonly number[], wanted: string): number {
  const names = header as string[];
  const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();
  const found =
    candidates.find((j) => names[j] === wanted) ?? candidates.find((j) => same(names[j] ?? '', wanted));
  if (found !== undefined) return found;
  const other = names.findIndex((name) => same(name, wanted));
  if (other >= 0 && isText[other])
    throw new InputError(`${source}: "${names[other]}" holds words, no reference values`);
  const known = candidates.map((j) => names[j] as string);
  throw new InputError(
    `${source} has no reference value "${wanted}"${didYouMean(wanted, known)}; it has ${few(known)}`,
  );
}
