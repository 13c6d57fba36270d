import { numbersOf, numbersWithGaps, sharedIds } from './data/columns.ts';
import { joinRows } from './data/join.ts';
import { tellSameNames } from './data/names.ts';
import { findNewTables, type NewFiles } from './data/new-files.ts';
import { refuseOneRow } from './data/shape.ts';
import { asTable, type Table } from './data/table.ts';
import { chooseTarget } from './data/target.ts';
import { type DatasetHints, SetReader, sorted } from './dataset.ts';

/** Spectra that are to be predicted, from one file. */
export interface NewSamples {
  /** File name of the spectra, used in messages. */
  source: string;
  x: number[][];
  /** Reference values as far as they are there. */
  y: (number | null)[];
  /** What tells each row apart in its file; null where nothing does. */
  names: (string | null)[];
  /** Column names of the spectra, or null without a header row. */
  columns: string[] | null;
}

interface Read {
  sets: NewSamples[];
  /** A sentence each. */
  warnings: string[];
}

/**
 * Reads the spectra of a dataset that is to be predicted, by the rules of README.md next to this file. Reference values
 * may be there, for some of them, or not at all.
 *
 * @param hints `target`: name of the reference value, where the user gave one
 * @param predicted what the model predicts, where that has a name
 * @throws InputError as `readDataset`
 */
export function readNewSamples(path: string, hints: DatasetHints, predicted: string | null): Read {
  const warnings: string[] = [];
  const reader = new NewSetReader(hints, predicted, (text) => warnings.push(text));
  return { sets: findNewTables(path).map((files) => reader.read(files)), warnings };
}

class NewSetReader {
  readonly #hints: DatasetHints;
  readonly #predicted: string | null;
  readonly #warn: (text: string) => void;
  readonly #reader: SetReader;

  constructor(hints: DatasetHints, predicted: string | null, warn: (text: string) => void) {
    this.#hints = hints;
    this.#predicted = predicted;
    this.#warn = warn;
    this.#reader = new SetReader(hints, warn);
  }

  read(files: NewFiles): NewSamples {
    if ('both' in files) return this.#readOne(files.both);
    return files.y === null ? this.#readOne(files.x) : this.#readPair(files.x, files.y);
  }

  /** Of one table, only a column that is named as what is predicted holds reference values. */
  #readOne(path: string): NewSamples {
    const { table, columns } = sorted(asTable(this.#reader.gridOf(path), this.#hints.header));
    const wanted = this.#wantedIn(table);
    const target =
      columns.axis.length > 0 && wanted !== null ? chooseTarget(table, columns.numbers, wanted) : null;
    const others = columns.numbers.filter((column) => column !== target);
    const spectrum = this.#reader.spectrumOf({ table, columns: { ...columns, numbers: others } });
    const y = target === null ? table.cells.map(() => null) : valuesOf(table, target);
    return this.#samples(table, spectrum, y, columns.ids?.values);
  }

  #readPair(xPath: string, yPath: string): NewSamples {
    const grid = this.#reader.gridOf(xPath);
    const spectra = asTable(grid, this.#hints.header);
    const reference = this.#reader.referenceTable(this.#reader.gridOf(yPath, grid), spectra);
    refuseOneRow(reference, spectra.cells.length);
    const wanted = this.#wantedIn(reference);
    const shared = sharedIds(spectra, reference, wanted);
    const [x, y] = [sorted(spectra, shared), sorted(reference, shared)];
    const candidates = [...y.columns.axis, ...y.columns.numbers].sort((a, b) => a - b);
    const target = chooseTarget(y.table, candidates, wanted);
    this.#tellOther(y.table, target);
    const values = valuesOf(y.table, target);
    const found = x.table.cells.map((): number | null => null);
    const names = x.table.cells.map((_, i) => x.columns.ids?.values[i]);
    for (const pair of joinRows(x, y, this.#warn, { keepsAll: true })) {
      if (pair.y === null) continue;
      found[pair.x] = values[pair.y] as number | null;
      names[pair.x] ??= y.columns.ids?.values[pair.y];
    }
    return this.#samples(x.table, this.#reader.spectrumOf(x), found, names);
  }

  /** What the user named, or else what the model predicts, if the table has it. */
  #wantedIn({ header }: Table): string | null {
    if (this.#hints.target !== null) return this.#hints.target;
    const wanted = this.#predicted?.toLowerCase();
    return header?.find((name) => name.toLowerCase() === wanted) ?? null;
  }

  #tellOther({ source, header }: Table, target: number): void {
    const name = header?.[target];
    const predicted = this.#predicted;
    if (!name || predicted === null || name.toLowerCase() === predicted.toLowerCase()) return;
    this.#warn(`${source}: its reference values are called "${name}", and the model predicts "${predicted}"`);
  }

  #samples(
    table: Table,
    spectrum: readonly number[],
    y: (number | null)[],
    names: readonly (string | undefined)[] = [],
  ): NewSamples {
    const x = numbersOf(table, spectrum);
    const columns = table.header ? spectrum.map((j) => table.header?.[j] as string) : null;
    const known = x.map((_, i) => names[i] ?? null);
    tellSameNames(table.source, known, this.#warn);
    return { source: table.source, x, y, names: known, columns };
  }
}

const valuesOf = (table: Table, column: number): (number | null)[] =>
  numbersWithGaps(table, column).map((value) => (Number.isNaN(value) ? null : value));
