/** What the best variant is selected by where the job does not say: never by samples that are to test it. */
export const SELECT_METRICS: readonly string[] = ['cv_rmse', 'cv_balanced_accuracy', 'cv_accuracy'];
/** Datasets of a job that selects. */
export const MAX_SELECTIONS = 1000;
/** Variants that one pipeline may hold. */
export const MAX_VARIANTS = 10_000;
