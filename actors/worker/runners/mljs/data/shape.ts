import { InputError } from '../../../errors.ts';
import { isMonotone } from './axis.ts';
import type { Table } from './table.ts';

/** Rows from which a column that rises or falls throughout does not do so by chance. */
const ENOUGH_ROWS = 4;

/**
 * Refuses what stands first among columns without wavelengths and is none of a spectrum: strictly monotone, and beyond
 * all values of the other columns. It may be ids; or wavelengths, and then each column is a sample.
 *
 * @param spectrum columns that are taken for the spectrum
 * @throws InputError with both readings
 */
export function refuseLeadingAxis({ source, header, values }: Table, spectrum: readonly number[]): void {
  const [first, ...others] = spectrum as [number, ...number[]];
  if (others.length < 2 || values.length < ENOUGH_ROWS) return;
  const column = values.map((row) => row[first] as number);
  if (!column.every(Number.isFinite) || !isMonotone(column)) return;
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const row of values) {
    for (const j of others) {
      const value = row[j] as number;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (Math.min(...column) <= high && Math.max(...column) >= low) return;
  const name = header?.[first] ? `"${header[first]}"` : `column ${first + 1}`;
  throw new InputError(
    `${source}: ${name} rises or falls throughout and is unlike the others; delete it if it numbers the samples, and transpose the table if it holds wavelengths: each row is a sample`,
  );
}

/** Refuses reference values that stand beside each other instead of below. @param rows of spectra */
export function refuseOneRow({ source, cells, isText }: Table, rows: number): void {
  const width = isText.length;
  if (cells.length !== 1 || width < 2 || ![width, width - 1].includes(rows)) return;
  throw new InputError(
    `${source}: the reference values stand in one row; write each of them on a line of its own`,
  );
}
