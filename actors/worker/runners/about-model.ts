/** What a model file says of itself, whichever library made it (docs/runners.md#what-a-model-says-of-itself). */
export interface AboutModel {
  library: string;
  /** Of the library. */
  version: string | null;
  /** What it is, in words. */
  model: string | null;
  /** What spectra go through first, a step each; null where that is inside of the model. */
  preprocessing: string[] | null;
  /** Where the columns of its spectra lie; null where they were not named so. */
  axis: { values: number[]; unit: string | null } | null;
  /** How many columns a spectrum has. */
  columns: number | null;
  /** What it predicts. */
  targets: { name: string | null; unit: string | null }[];
  /** Such as `regression`; not said where the library knows nothing else. */
  task_type?: string | null;
  training: {
    samples: number | null;
    /** SHA-256 of what `sha256sum` writes of the files of the dataset, sorted by their names. */
    sha256: string | null;
  };
  /** Which task of which job made it; null where no worker had it made. */
  task: MadeBy | null;
  /** As the run reported them. */
  metrics: Record<string, number | null>;
}

export interface MadeBy {
  job_id: string;
  task_id: string;
  attempt: number;
}

/** In a .n4a bundle the file with the above. */
export const ABOUT_MEMBER = 'jq-cluster.json';

/** The unit that the name of a value ends with, as in `protein (%)` or `moisture [g/kg]`; null without one. */
export const unitIn = (name: string | null): string | null =>
  /\S\s*(?:\(([^()]{1,40})\)|\[([^[\]]{1,40})\])\s*$/
    .exec(name ?? '')
    ?.slice(1)
    .find(Boolean)
    ?.trim() ?? null;
