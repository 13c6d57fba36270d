import { rankModeIn } from '../ranking/standing.ts';
import { pipelineName } from '../ranking/steps.ts';
import { metricIn, rankMetricOf } from '../ranking/table.ts';
import type { Aggregate, RankingEntry, TaskView } from '../schema/views.ts';
import { groupBy } from './group.ts';

/** A task that succeeded, by how good it is. */
export interface Placed {
  pipeline: string;
  dataset: string;
  value: number;
}

const nameOf = ({ pipeline, pipeline_steps }: RankingEntry): string => pipeline_steps ?? pipeline;

/** What has a number for the metric by which the job ranks, the best first. */
export function placed(aggregate: Aggregate): Placed[] {
  const metric = rankMetricOf(aggregate);
  return aggregate.ranking.flatMap((entry) => {
    const value = metricIn(entry, metric);
    return value === null ? [] : [{ pipeline: nameOf(entry), dataset: entry.dataset, value }];
  });
}

/** Which end of the metric is better. */
export const modeOf = (entries: readonly Placed[], metric: string): 'min' | 'max' =>
  rankModeIn(
    entries.map(({ value }) => value),
    metric,
  );

const wordsFor = (task: TaskView): string => `${pipelineName(task)} on ${task.dataset_label}`;

/** What failed. */
export const failedTasks = (tasks: readonly TaskView[]): { pipeline: string; dataset: string }[] =>
  tasks
    .filter(({ status }) => status === 'failed')
    .map((task) => ({ pipeline: pipelineName(task), dataset: task.dataset_label }));

/** Seconds for which the last attempts at tasks ran, the longest first. */
export function runTimes(tasks: readonly TaskView[]): { name: string; seconds: number; failed: boolean }[] {
  return tasks
    .flatMap((task) => {
      const { status, started_at, updated_at } = task;
      const isOver = (status === 'succeeded' && !task.reused_from) || status === 'failed';
      if (!isOver || started_at === null) return [];
      return [
        { name: wordsFor(task), seconds: Math.max(0, updated_at - started_at), failed: status === 'failed' },
      ];
    })
    .sort((a, b) => b.seconds - a.seconds);
}

/** A pipeline on each dataset. */
export interface MatrixRow {
  pipeline: string;
  /** Null where it was not run, or has not ended. */
  cells: ({ value: number; share: number } | 'failed' | null)[];
}

/**
 * Pipelines by datasets, the best value of each; `share` says how good it is among those on the same dataset, from 0 for
 * the worst to 1 for the best: what is large on one dataset may be small on another.
 * @param failed tasks; what has no value but one of them is marked, and pipelines that failed everywhere come last
 */
export function matrixOf(
  entries: readonly Placed[],
  metric: string,
  failed: readonly Pick<Placed, 'pipeline' | 'dataset'>[] = [],
): { datasets: string[]; rows: MatrixRow[] } {
  const datasets = [...new Set([...entries, ...failed].map(({ dataset }) => dataset))];
  const mode = modeOf(entries, metric);
  const best = new Map<string, Map<string, number>>();
  // The best come first.
  for (const { pipeline, dataset, value } of entries) {
    const row = best.get(pipeline) ?? new Map<string, number>();
    if (!row.has(dataset)) row.set(dataset, value);
    best.set(pipeline, row);
  }
  const lost = groupBy(failed, ({ pipeline }) => pipeline);
  for (const pipeline of lost.keys()) if (!best.has(pipeline)) best.set(pipeline, new Map());
  const ranges = datasets.map((dataset) => {
    const values = [...best.values()].flatMap((row) => row.get(dataset) ?? []);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return mode === 'min' ? { worst: most, best: least } : { worst: least, best: most };
  });
  const rows = [...best].map(([pipeline, row]) => ({
    pipeline,
    cells: datasets.map((dataset, i) => {
      const value = row.get(dataset);
      const range = ranges[i];
      if (value === undefined || !range)
        return lost.get(pipeline)?.some((one) => one.dataset === dataset) ? 'failed' : null;
      const width = range.best - range.worst;
      return { value, share: width === 0 ? 1 : Math.abs((value - range.worst) / width) };
    }),
  }));
  return { datasets, rows };
}
