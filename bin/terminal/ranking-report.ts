import { aligned, metricIn, otherWinner, rankMetricOf, shownMetrics } from '../../machines/ranking/table.ts';
import type { JobView, RankingEntry } from '../../machines/schema/views.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';
import { type Column, table } from './table.ts';

/** Rows that a person wants at a glance, and metrics where there is room for them. */
const SHOWN = 20;
const METRICS = { most: 8, least: 2, width: 12 };
/** Columns beside the metrics, about. */
const OTHERS = 56;

/** The best tasks of a job with their metrics and ids, and whether cross-validation says otherwise. */
export function rankingReport(
  { id, aggregate }: JobView,
  labels: ReadonlyMap<string, string>,
  output: Output,
): string {
  const { ranking } = aggregate;
  if (ranking.length === 0) return '';
  const { dim, yellow } = output.colours;
  const rankMetric = rankMetricOf(aggregate);
  const more = ranking.length - SHOWN;
  const other = otherWinner(
    ranking,
    rankMetric,
    (entry) => `${pipelineOf(entry, labels)} on ${entry.dataset} (${shownId(entry.task_id, output)})`,
  );
  return [
    rankingTable(ranking.slice(0, SHOWN), rankMetric, labels, output),
    more > 0 ? dim(`  and ${more} more; --json lists all of them`) : '',
    other === null ? '' : yellow(plain(other)),
    dim(`log of one: jqctl logs ${plain(id)} --task TASK`),
    aggregate.best_model_artifact_id === null ? '' : dim(`${modelHint(aggregate, plain(id))} --out DIR`),
  ]
    .filter((line) => line !== '')
    .join('\n');
}

/**
 * Succeeded tasks with their metrics and ids, in the order that is given.
 * @param labels what tells tasks of equal pipelines apart, by their ids
 */
export function rankingTable(
  entries: readonly RankingEntry[],
  rankMetric: string,
  labels: ReadonlyMap<string, string>,
  output: Output,
): string {
  const { dim } = output.colours;
  const metrics = shownMetrics(entries, rankMetric, roomFor(output.width));
  const columns = metrics.map((metric) =>
    aligned(
      entries.map((entry) => metricIn(entry, metric)),
      '-',
    ),
  );
  const reused = entries.some(({ reused_from }) => reused_from);
  const rows = entries.map((entry, i) => [
    metricIn(entry, rankMetric) === null ? '-' : String(i + 1),
    plain(entry.dataset),
    plain(pipelineOf(entry, labels)),
    ...columns.map((column) => column[i] as string),
    dim(plain(shownId(entry.task_id, output))),
    ...(reused ? [dim(originOf(entry, output))] : []),
  ]);
  const titles: Column[] = [
    { title: '#', align: 'right' },
    { title: 'dataset', flexible: true },
    { title: 'pipeline', flexible: true },
    ...metrics.map((title) => ({ title: plain(title), align: 'right' as const })),
    { title: 'task' },
    ...(reused ? [{ title: 'reused from' }] : []),
  ];
  return table(titles, rows, output);
}

/** Of a job that selects only what it refitted has a model. */
const modelHint = ({ selections }: JobView['aggregate'], id: string): string =>
  selections === undefined
    ? `its model:  jqctl artifacts ${id} --task TASK --role model`
    : `best model:  jqctl artifacts ${id} --role best_model`;

function roomFor(width: number | undefined): number {
  if (width === undefined) return METRICS.most;
  const room = Math.floor((width - OTHERS) / METRICS.width);
  return Math.min(METRICS.most, Math.max(METRICS.least, room));
}

/** On a terminal the end, by which every command finds the task. */
const shownId = (id: string, { width }: Output): string =>
  width === undefined || id.length <= 10 ? id : `…${id.slice(-8)}`;

/** The task, and its job, that computed the result, where it was another one. */
function originOf({ reused_from }: RankingEntry, output: Output): string {
  if (!reused_from) return '';
  const { task_id, job_id } = reused_from;
  return plain(`${shownId(task_id, output)} of ${shownId(job_id, output)}`);
}

/** What the pipeline is called, with the number that tells equal ones apart. */
function pipelineOf(entry: RankingEntry, labels: ReadonlyMap<string, string>): string {
  const number = /#\d+$/.exec(labels.get(entry.task_id) ?? '')?.[0];
  const name = entry.pipeline_steps ?? entry.pipeline;
  return number === undefined ? name : `${name} ${number}`;
}
