import { InputError } from '../../../errors.ts';
import type { Columns, Ids } from './columns.ts';
import type { Table } from './table.ts';
import { few } from './words.ts';

/** A table with its columns sorted. */
export interface Sorted {
  table: Table;
  columns: Columns;
}

/** Which row of the reference values belongs to a spectrum; null for one that stands on an empty line. */
export interface Pair {
  x: number;
  y: number | null;
  /** Line of the reference value. */
  line: number;
}

/**
 * Finds the rows that belong together: by their ids where both files have some, otherwise by their order.
 *
 * @param keepsAll whether a spectrum without a reference value is kept, as is wanted of those that are to be predicted
 * @throws InputError where neither says it beyond doubt
 */
export function joinRows(
  x: Sorted,
  y: Sorted,
  warn: (text: string) => void,
  { keepsAll = false } = {},
): Pair[] {
  const [xIds, yIds] = alike(x.columns.ids, y.columns.ids);
  for (const { table, columns } of [x, y]) {
    if (columns.ids && isIndex(table, columns.ids)) warn(`${table.source}: the index column was left out`);
  }
  if (xIds) tellSummaries(x.table, xIds, warn);
  if (xIds && yIds && !sameSequence(xIds, yIds))
    return byIds({ table: x.table, ids: xIds }, { table: y.table, ids: yIds }, warn, keepsAll);
  const named = xIds ?? yIds;
  if (named && !(xIds && yIds) && !named.isCounter) {
    const [has, lacks] = xIds ? [x, y] : [y, x];
    warn(
      `${lacks.table.source} has no sample ids as ${has.table.source} has: rows were joined by their order`,
    );
  }
  return byOrder(x.table, y.table);
}

const isIndex = ({ header }: Table, { column, isCounter }: Ids): boolean =>
  isCounter || header?.[column] === '';

/** Ids of digits alone are the same with and without the zeros in front of them, which spreadsheets take off. */
function alike(a: Ids | null, b: Ids | null): [Ids | null, Ids | null] {
  if (!a || !b || ![...a.values, ...b.values].every((id) => /^\d+$/.test(id))) return [a, b];
  const short = (ids: Ids): Ids => ({ ...ids, values: ids.values.map((id) => id.replace(/^0+(?=\d)/, '')) });
  const distinct = (ids: Ids) => new Set(ids.values).size;
  const [shortA, shortB] = [short(a), short(b)];
  return distinct(shortA) === distinct(a) && distinct(shortB) === distinct(b) ? [shortA, shortB] : [a, b];
}

const SUMMARY =
  /^(mean|average|avg\.?|mittel(wert)?|moyenne|median|m[ée]diane|std\.?( ?dev\.?)?|sd|stabw\.?|[ée]cart[- ]type|min(imum)?|max(imum)?|sum(me)?|somme|total)$/i;

function tellSummaries({ source, lines }: Table, { values }: Ids, warn: (text: string) => void): void {
  for (const [i, id] of values.entries()) {
    if (!SUMMARY.test(id)) continue;
    warn(
      `${source}: "${id}" on line ${lines[i]} was taken for a sample; delete the row if it sums up others`,
    );
  }
}

const sameSequence = (a: Ids, b: Ids): boolean =>
  a.values.length === b.values.length && a.values.every((value, i) => value === b.values[i]);

interface Identified {
  table: Table;
  ids: Ids;
}

function byIds(
  { table: x, ids: xIds }: Identified,
  { table: y, ids: yIds }: Identified,
  warn: (text: string) => void,
  keepsAll: boolean,
): Pair[] {
  if (xIds.isCounter && yIds.isCounter) {
    if (xIds.values.length !== yIds.values.length) throw unequal(x, y);
    const starts = `${x.source} counts its rows from ${xIds.start}, ${y.source} from ${yIds.start}`;
    throw new InputError(`${starts}; delete one of the columns if rows belong together by their order`);
  }
  const places = positions(y, yIds);
  const taken = positions(x, xIds);
  const pairs = xIds.values.flatMap((id, i): Pair[] => {
    const found = places.get(id);
    if (found === undefined) return keepsAll ? [{ x: i, y: null, line: x.lines[i] as number }] : [];
    return [{ x: i, y: found, line: y.lines[found] as number }];
  });
  if (pairs.every((pair) => pair.y === null)) {
    const examples = `"${xIds.values[0]}" and "${yIds.values[0]}", for example`;
    throw new InputError(`${x.source} and ${y.source} have no sample id in common (${examples})`);
  }
  if (!keepsAll)
    tellLeftOut(`${x.source}: left out for want of a reference value`, xIds.values, places, warn);
  tellLeftOut(`${y.source}: left out for want of a spectrum`, yIds.values, taken, warn);
  return pairs;
}

function positions({ source, lines }: Table, { values }: Ids): Map<string, number> {
  const found = new Map<string, number>();
  for (const [i, id] of values.entries()) {
    const before = found.get(id);
    if (before !== undefined) {
      const where = `on lines ${lines[before]} and ${lines[i]}`;
      throw new InputError(`${source}: sample "${id}" stands twice, ${where}; ids must tell rows apart`);
    }
    found.set(id, i);
  }
  return found;
}

function tellLeftOut(
  what: string,
  ids: readonly string[],
  others: ReadonlyMap<string, number>,
  warn: (text: string) => void,
): void {
  const left = ids.filter((id) => !others.has(id));
  if (left.length > 0) warn(`${what}: ${few(left)}`);
}

function byOrder(x: Table, y: Table): Pair[] {
  const rows = x.cells.length;
  const values = y.cells.length;
  if (rows === values) return y.lines.map((line, i) => ({ x: i, y: i, line }));
  // In a single column an empty line is a sample without a value.
  const blanks = y.isText.length === 1 ? y.blankLines.filter((line) => line > y.headerLine) : [];
  if (rows !== values + blanks.length) throw unequal(x, y);
  const places = [
    ...y.lines.map((line, i) => ({ line, y: i })),
    ...blanks.map((line) => ({ line, y: null })),
  ];
  places.sort((a, b) => a.line - b.line);
  return places.map((place, i) => ({ x: i, ...place }));
}

function unequal(x: Table, y: Table): InputError {
  const columns = x.isText.length;
  const turned = [columns, columns - 1].includes(y.cells.length)
    ? '; there are as many columns of spectra: transpose that table if each of them is a sample'
    : '';
  const counts = `${x.cells.length} rows of spectra (${describe(x)}), ${y.cells.length} of reference values (${describe(y)})`;
  return new InputError(`${counts}: each spectrum needs one reference value${turned}`);
}

// The first row is named since one that was wrongly taken for a header, or for data, is what usually makes the
// counts differ by one.
const describe = ({ source, header, firstRow }: Table): string =>
  header ? `${source}, below its header ${firstRow}` : `${source}, which begins with ${firstRow}`;
