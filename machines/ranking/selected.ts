import type { Aggregate, SelectionView } from '../schema/views.ts';
import { pipelineName } from './steps.ts';

/** Datasets that a person wants at a glance. */
const SHOWN = 20;

const REFITS: Readonly<Record<string, string>> = {
  queued: ', which is being refitted',
  succeeded: ', refitted',
  failed: ', whose refit failed',
};

/** A line for each dataset of a job that selects: which variant was selected by what, and what becomes of it. */
export function selectionLines({
  selections = [],
  ranking,
}: Pick<Aggregate, 'selections' | 'ranking'>): string[] {
  const names = new Map(
    ranking.map((entry) => [entry.task_id, pipelineName({ ...entry, pipeline_label: entry.pipeline })]),
  );
  const lines = selections.slice(0, SHOWN).map((selection) => {
    const on = selections.length > 1 ? `${selection.dataset}: ` : '';
    return on + outcome(selection, names);
  });
  const more = selections.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more datasets`] : lines;
}

function outcome(
  { task_id, metric, value, refit, num_left, error }: SelectionView,
  names: ReadonlyMap<string, string>,
): string {
  if (error !== null) return error;
  if (task_id === null) return `not yet, ${num_left} variant${num_left === 1 ? '' : 's'} left`;
  const number = value === null ? '' : ` ${Number(value.toPrecision(4))}`;
  return `${names.get(task_id) ?? task_id} by ${metric}${number}${REFITS[refit ?? ''] ?? ''}`;
}
