/** A metric by which a job may rank, and whether its smallest or largest value is best. */
export interface RankMetric {
  metric: string;
  mode: 'min' | 'max';
}

/** How the succeeded tasks of a job stand by one metric. */
export interface Standing extends RankMetric {
  /** How many of them reported a finite number for it. */
  reported: number;
  best_metric: number | null;
  best_task_id: string | null;
  best_model_artifact_id: string | null;
}

export const noStanding = ({ metric, mode }: RankMetric): Standing => ({
  metric,
  mode,
  reported: 0,
  best_metric: null,
  best_task_id: null,
  best_model_artifact_id: null,
});

/**
 * The standing with one more succeeded task. The first of equals stays the best; a task without a finite value is
 * unranked, and never the best (docs/semantics.md#ranking).
 */
export function withTask(
  standing: Standing,
  value: number | null,
  task: Pick<Standing, 'best_task_id' | 'best_model_artifact_id'>,
): Standing {
  if (value === null) return standing;
  const { mode, best_metric: best, reported } = standing;
  const isBetter = best === null || (mode === 'min' ? value < best : value > best);
  return { ...standing, reported: reported + 1, ...(isBetter && { best_metric: value, ...task }) };
}

/** What a result has of the metrics that a job may rank by, in their order; null where that is no finite number. */
export function rankValuesOf(
  standings: readonly RankMetric[],
  metrics: Readonly<Record<string, unknown>>,
): { rank_value: number | null; rank_others: (number | null)[] } {
  const [rank_value = null, ...rank_others] = standings.map(({ metric }) => finite(metrics[metric]));
  return { rank_value, rank_others };
}

const finite = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

/**
 * By which of its metrics a job ranks, with the best by it: the one that most of its succeeded tasks report, of equals
 * the first in the list. So it is the first that all report (docs/semantics.md#ranking), and where there is none, the
 * one that leaves the fewest tasks out.
 */
export function rankedBy(standings: readonly Standing[]) {
  const used = standings.reduce((most, next) => (next.reported > most.reported ? next : most));
  return {
    rank_metric: used.metric,
    rank_mode: used.mode,
    best_metric: used.best_metric,
    best_task_id: used.best_task_id,
    best_model_artifact_id: used.best_model_artifact_id,
  };
}

/** What is known to be better large: names of metrics, as the libraries spell them, without what stands around. */
const LARGER_IS_BETTER =
  /^(r|r2|q2|r2_score|rsquared|r_squared|pearson|pearson_r|pearsonr|spearman|spearman_r|spearmanr|corr|correlation|ccc|rpd|rpiq|rer|nse|consistency|explained_variance|explained_variance_score|accuracy|accuracy_score|acc|auc|roc_auc|average_precision|precision|recall|sensitivity|specificity|f1|f1_score|fscore|mcc|matthews_corrcoef|kappa|cohen_kappa|jaccard|jaccard_score)$/;
/** What says where or how a metric was measured, not what it is. */
const AROUND =
  /^(best|final|mean|avg|median|cv|oof|val|valid|validation|test|train|cal|calibration|pred|prediction|external|balanced|micro|macro|weighted)$/;

/** Whether a metric is best small or large, as far as its name tells: errors are better small, and what is unknown. */
export function rankModeOf(metric: string): 'min' | 'max' {
  const words = metric.toLowerCase().split(/[^a-z0-9]+/);
  // As scikit-learn turns errors around.
  if (words.includes('neg')) return 'max';
  const own = words.filter((word) => !AROUND.test(word)).join('_');
  return LARGER_IS_BETTER.test(own) ? 'max' : 'min';
}

/**
 * Which end of a metric is better: as a ranking by it says, whose best comes first, for a job may say so itself; else as
 * far as its name tells.
 * @param ranked its values in that ranking
 */
export function rankModeIn(ranked: readonly number[], metric: string): 'min' | 'max' {
  const [best, worst] = [ranked[0], ranked.at(-1)];
  if (best === undefined || worst === undefined || best === worst) return rankModeOf(metric);
  return best < worst ? 'min' : 'max';
}
