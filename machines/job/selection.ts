import type { RankMetric } from '../ranking/standing.ts';

/** What a task is for in a job that selects: it finds the variants, is one of them, or refits the best. */
export const TASK_ROLES = ['expansion', 'variant', 'refit'] as const;
export type TaskRole = (typeof TASK_ROLES)[number];

/**
 * Which pipeline and dataset of its job's specification a task is about; in a job that selects, also what it is for.
 */
export interface TaskPlace {
  pipeline: number;
  dataset: number;
  role?: TaskRole;
}

/** The best variant by one metric, so far. */
export interface BestVariant {
  /** How many have a finite number for the metric. */
  reported: number;
  value: number | null;
  task_id: string | null;
  pipeline: number;
}

/** The variant that was selected, and what becomes of it. */
export interface Choice {
  task_id: string;
  pipeline: number;
  metric: string;
  mode: 'min' | 'max';
  value: number;
  /** `none` where the job asks for no refit; `wanted` until its task is queued, in the same turn. */
  refit: 'none' | 'wanted' | 'open' | 'succeeded' | 'failed' | 'cancelled';
  refit_task_id: string | null;
}

/** How the variants on one dataset stand. */
export interface DatasetSelection {
  /** What it is called. */
  dataset: string;
  /** Variants that have not ended. */
  left: number;
  succeeded: number;
  /** By each of the metrics that the job may select by, as they are listed. */
  bests: readonly BestVariant[];
  /** False from when it has variants that have not ended, until one has been selected or none could be. */
  decided: boolean;
  choice: Choice | null;
  /** Why none could be selected. */
  error: string | null;
}

/** What a job that selects knows of it, by dataset. */
export interface Selection {
  refit: boolean;
  /** Whether its variants have yet to be found. */
  expanding: boolean;
  datasets: readonly DatasetSelection[];
}

const NO_BEST: BestVariant = { reported: 0, value: null, task_id: null, pipeline: -1 };

/** @param variants how many each dataset has; null: they have yet to be found */
export function newSelection(
  datasets: readonly string[],
  metrics: readonly RankMetric[],
  { refit, variants }: { refit: boolean; variants: number | null },
): Selection {
  return {
    refit,
    expanding: variants === null,
    datasets: datasets.map((dataset) => ({
      dataset,
      left: variants ?? 0,
      succeeded: 0,
      bests: metrics.map(() => NO_BEST),
      decided: false,
      choice: null,
      error: null,
    })),
  };
}

/** All of its variants are there now: so many on each dataset. */
export const withVariants = (selection: Selection, variants: number): Selection => ({
  ...selection,
  expanding: false,
  datasets: selection.datasets.map((of) => ({ ...of, left: variants })),
});

const changed = (
  selection: Selection,
  dataset: number,
  change: (of: DatasetSelection) => Partial<DatasetSelection>,
): Selection => ({
  ...selection,
  datasets: selection.datasets.map((of, place) => (place === dataset ? { ...of, ...change(of) } : of)),
});

/** The choice with another state of its refit, where the task refits what is selected now. */
const withRefit = ({ choice }: DatasetSelection, pipeline: number, refit: Choice['refit']) =>
  choice?.pipeline === pipeline ? { choice: { ...choice, refit } } : {};

/** The selection with one more task that succeeded. */
export function afterSuccess(
  selection: Selection,
  { role, pipeline, dataset }: TaskPlace,
  task: { task_id: string; values: readonly (number | null)[] },
  metrics: readonly RankMetric[],
): Selection {
  if (role === 'expansion') return selection;
  if (role === 'refit') return changed(selection, dataset, (of) => withRefit(of, pipeline, 'succeeded'));
  return changed(selection, dataset, (of) => ({
    left: of.left - 1,
    succeeded: of.succeeded + 1,
    bests: of.bests.map((best, place) =>
      better(best, task.values[place] ?? null, { task_id: task.task_id, pipeline }, metrics[place]?.mode),
    ),
  }));
}

/** Of equals the first by its place is the best, whichever came first. */
function better(
  best: BestVariant,
  value: number | null,
  task: Pick<BestVariant, 'task_id' | 'pipeline'>,
  mode: RankMetric['mode'] | undefined,
): BestVariant {
  if (value === null) return best;
  const reported = best.reported + 1;
  const isBetter =
    best.value === null ||
    (mode === 'max' ? value > best.value : value < best.value) ||
    (value === best.value && task.pipeline < best.pipeline);
  return isBetter ? { reported, value, ...task } : { ...best, reported };
}

/** The selection with one more task that failed for good, or was cancelled by itself. */
export function afterFailure(
  selection: Selection,
  { role, pipeline, dataset }: TaskPlace,
  refit: 'failed' | 'cancelled',
): Selection {
  if (role === 'expansion') return selection;
  return changed(selection, dataset, (of) =>
    role === 'refit' ? withRefit(of, pipeline, refit) : { left: of.left - 1 },
  );
}

/** Whether the refit of some dataset was cancelled: unlike one that failed, its task never comes back. */
export const lacksRefit = ({ datasets }: Selection): boolean =>
  datasets.some(({ choice }) => choice?.refit === 'cancelled');

/** What was selected is selected anew, with a task of its own, where that was cancelled. */
export const withRefitsAnew = (selection: Selection): Selection => ({
  ...selection,
  datasets: selection.datasets.map((of) =>
    of.choice?.refit === 'cancelled' ? { ...of, decided: false } : of,
  ),
});

/** The selection with a failed task that is tried again: with a variant, what was selected is open anew. */
export function afterReturn(selection: Selection, { role, pipeline, dataset }: TaskPlace): Selection {
  if (role === 'expansion') return selection;
  return changed(selection, dataset, (of) =>
    role === 'refit' ? withRefit(of, pipeline, 'open') : { left: of.left + 1, decided: false, error: null },
  );
}

/** The task that refits what was selected has been queued. */
export const withRefitTask = (selection: Selection, dataset: number, refit_task_id: string): Selection =>
  changed(selection, dataset, ({ choice }) =>
    choice === null ? {} : { choice: { ...choice, refit: 'open', refit_task_id } },
  );

/** The dataset all of whose variants have ended, and which is not decided yet; -1 where there is none. */
export const decidable = ({ expanding, datasets }: Selection): number =>
  expanding ? -1 : datasets.findIndex(({ decided, left }) => !decided && left === 0);

/** What is selected of a dataset, or a sentence why nothing can be. */
export function decide(
  { refit, datasets }: Selection,
  dataset: number,
  metrics: readonly RankMetric[],
): Choice | string {
  const { bests, succeeded, choice, dataset: name } = datasets[dataset] as DatasetSelection;
  const on = datasets.length > 1 ? ` on ${name}` : '';
  // The first that all report; where there is none, the one that leaves the fewest out.
  const place = bests.reduce((most, next, i) => (next.reported > (bests[most]?.reported ?? 0) ? i : most), 0);
  const { value, task_id, pipeline } = bests[place] ?? NO_BEST;
  const { metric, mode } = metrics[place] as RankMetric;
  if (succeeded === 0) return `none of the variants${on} succeeded, so that none can be selected`;
  if (value === null || task_id === null) {
    const wanted = metrics.map((one) => `'${one.metric}'`).join(' or ');
    return `none of the variants${on} reported a number for ${wanted}, by which the best is selected`;
  }
  const selected = { task_id, pipeline, metric, mode, value };
  // It was selected before, and a task has refitted it, or does.
  const isRefitted = choice?.refit === 'open' || choice?.refit === 'succeeded';
  if (isRefitted && choice.pipeline === pipeline)
    return { ...selected, refit: choice.refit, refit_task_id: choice.refit_task_id };
  return { ...selected, refit: refit ? 'wanted' : 'none', refit_task_id: null };
}

/** The selection with a decision on a dataset. */
export const decidedOn = (selection: Selection, dataset: number, decision: Choice | string): Selection =>
  changed(selection, dataset, () =>
    typeof decision === 'string'
      ? { decided: true, choice: null, error: decision }
      : { decided: true, choice: decision, error: null },
  );

/** Whether each dataset is decided, and nothing is about to be queued. */
export const isSettled = ({ expanding, datasets }: Selection): boolean =>
  !expanding && datasets.every(({ decided, choice }) => decided && choice?.refit !== 'wanted');

/** Whether what was asked for is there for some dataset. */
export const hasOutcome = ({ datasets }: Selection): boolean =>
  datasets.some(({ choice }) => choice?.refit === 'none' || choice?.refit === 'succeeded');

/** What a job that selects is about at present. */
export const PHASES = ['expanding', 'exploring', 'refitting'] as const;
export type Phase = (typeof PHASES)[number];

export function phaseOf({ expanding, datasets }: Selection): Phase {
  if (expanding) return 'expanding';
  return datasets.every(({ decided }) => decided) ? 'refitting' : 'exploring';
}
