/** Spectra of a dataset that a task kept for a picture: `spectra.json` and `preprocessed.json`. */
export interface Spectra {
  /** What was done to them, a line each; nothing: as they were read. */
  steps: readonly string[];
  /** Of all samples of the dataset, how many there are, those that are kept, and whether the model was fitted on them. */
  samples: { of: number; names: readonly string[]; partitions: readonly string[] };
  /** Of all columns, how many there are, and where those lie that are kept; `unit` is null where nothing says it. */
  axis: { unit: string | null; of: number; values: readonly number[] };
  values: readonly (readonly number[])[];
}

/**
 * Reads a file of spectra (docs/runners.md#spectra).
 * @throws Error, in a sentence, if it is none
 */
export function parseSpectra(text: string): Spectra {
  const found = JSON.parse(text) as Partial<Spectra> | null;
  const { steps, samples, axis, values } = found ?? {};
  const isWhole =
    isWords(steps) &&
    isWords(samples?.names) &&
    isWords(samples?.partitions) &&
    isNumbers(axis?.values) &&
    Array.isArray(values) &&
    values.length === samples.names.length &&
    values.length === samples.partitions.length &&
    values.every((row) => isNumbers(row) && row.length === axis.values.length);
  if (!isWhole) throw new Error('it holds no spectra');
  return found as Spectra;
}

const isWords = (list: unknown): list is string[] =>
  Array.isArray(list) && list.every((one) => typeof one === 'string');
const isNumbers = (list: unknown): list is number[] => Array.isArray(list) && list.every(Number.isFinite);

/** A sample as a line of `predictions.csv` names it. */
export interface NamedSample {
  sample: string;
  partition: string;
}

/** Where a sample stands among those that are kept; -1 where it does not. Training and test samples may be called alike. */
export function placeOf(
  { samples: { names, partitions } }: Spectra,
  { sample, partition }: NamedSample,
): number {
  const wanted = partition === 'test' ? 'test' : 'train';
  return names.findIndex((name, i) => name === sample && partitions[i] === wanted);
}
