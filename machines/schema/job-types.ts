/** The type of a job that names none. */
export const DEFAULT_TYPE = 'nirs4all.run';
/** What the type of a job ends with, behind its library. */
export const TYPE_ENDINGS = ['run', 'predict'] as const;
export type TypeEnding = (typeof TYPE_ENDINGS)[number];
/** The library that jobs of a type run, of which the type is `<lib>.run` or `<lib>.predict`. */
export const libraryOf = (type: string): string => type.slice(0, type.lastIndexOf('.'));
/** Whether jobs of a type predict with a model instead of making one. */
export const isPrediction = (type: string): boolean => type.endsWith('.predict');

/** What the label begins with by which a worker declares that its runner for a library predicts. */
export const PREDICT_LABEL = 'predict.';
/** Libraries whose models are plain data; to load those of others is to run what is in them. */
export const PLAIN_MODELS: readonly string[] = ['mljs'];
