/** What a dataset looks like to the runner of a library, without any run. */
export interface DatasetReport {
  library: string;
  /** Rows of spectra with a reference value. */
  samples: number;
  /** Samples kept apart for testing; 0 without any. */
  test_samples: number;
  /** Columns of a spectrum. */
  variables: number;
  /** Where the spectrum begins and ends, if its columns are named so. */
  axis: { from: number; to: number; unit: string | null } | null;
  /** One entry for each reference value. */
  targets: { name: string | null; min: number; max: number; mean: number }[];
  /** What was left out or looks odd, a sentence each. */
  warnings: string[];
  /** Some of the spectra, evenly picked, for a picture. */
  spectra: number[][];
}

/** How many spectra a picture can hold. */
export const SHOWN_SPECTRA = 40;

/** At most so many items of a list, evenly spread. */
export function spread<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  return Array.from({ length: most }, (_, i) => items[Math.floor((i * items.length) / most)] as T);
}
