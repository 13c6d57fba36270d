import type { JobView, RankingEntry } from '../../machines/schema/views.ts';
import type { Mismatch } from '../client/fingerprints.ts';
import { hasEnded } from '../client/follow.ts';
import { taskLabels } from '../client/task-board.ts';
import type { KnownTasks } from '../client/task-pages.ts';
import { counted, dateTime, duration, metric, wrap } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';
import { jobStanding } from './status-style.ts';
import { facts, table } from './table.ts';
import { waitingLines } from './waiting.ts';

/** Rows of the ranking and of the failed tasks that a person wants at a glance. */
const SHOWN = 20;
/** Metrics beside the rank metric, in this order. */
const METRICS = ['best_rmse', 'best_r2', 'best_mae', 'best_accuracy', 'best_score'];

export interface KnownJob {
  job: JobView;
  tasks: KnownTasks;
  /** Of the whole cluster. */
  workersAlive: number;
  mismatches: Mismatch[];
}

/** Everything about a job that a person asks for: how it stands, what is best, what failed and what waits. */
export function jobReport(known: KnownJob, output: Output): string {
  const { job, tasks, workersAlive } = known;
  const isPart = tasks.first.length < job.aggregate.num_tasks;
  const labels = isPart ? partLabels(tasks) : taskLabels(tasks.first);
  return [
    heading(job, output),
    ranking(job, labels, output),
    failures(job, labels, output),
    waitingLines(tasks.queued, workersAlive, isPart && tasks.queued.length < job.aggregate.num_queued)
      .map(output.colours.yellow)
      .join('\n'),
    [...job.warnings, ...oddPipelines(known, labels), ...taskWarnings(tasks)]
      .map((text) => `${output.colours.yellow('warning:')} ${plain(text)}`)
      .join('\n'),
    isPart && job.aggregate.num_succeeded > 0
      ? output.colours.dim(
          `warnings of the first ${tasks.first.length} of ${job.aggregate.num_tasks} tasks; --json lists all of them`,
        )
      : '',
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Which of very many tells apart what is not known here: each has its pipeline and its dataset as a name. */
const partLabels = ({ first, failed }: KnownTasks): Map<string, string> =>
  new Map([...first, ...failed].map((task) => [task.id, `${task.dataset_label} · ${task.pipeline_label}`]));

function heading(job: JobView, output: Output): string {
  const { bold } = output.colours;
  const { aggregate: sum } = job;
  const reason = job.status === 'failed' ? job.error : null;
  const rows: [string, string][] = [
    ['job', `${bold(plain(job.id))}${job.name === null ? '' : `  ${plain(job.name)}`}`],
    // While it goes on, or where others succeeded, the reason of one task says nothing of the job.
    ['status', `${jobStanding(job, output.colours)}${reason === null ? '' : `: ${plain(reason)}`}`],
    ['type', `${plain(job.type)}${job.priority === 0 ? '' : `, priority ${job.priority}`}`],
    ['submitted', `${dateTime(job.created_at)}${job.owner === null ? '' : ` by ${plain(job.owner)}`}`],
    ...endOf(job),
    ['tasks', `${counted(sum.num_tasks, 'task')}: ${countsOf(job)}`],
  ];
  if (sum.best_metric !== null) {
    rows.push(['best', `${plain(rankMetricOf(sum.ranking))} ${bold(metric(sum.best_metric))}`]);
  }
  return facts(rows, output);
}

/** Of a job that goes on, when it changed last says nothing of how long it takes. */
function endOf({ status, created_at, updated_at }: JobView): [string, string][] {
  if (!hasEnded(status)) return [];
  return [['ended', `${dateTime(updated_at)}, after ${duration(updated_at - created_at)}`]];
}

function countsOf({ aggregate: sum }: JobView): string {
  const counts: [number, string][] = [
    [sum.num_succeeded, 'succeeded'],
    [sum.num_failed, 'failed'],
    [sum.num_cancelled, 'cancelled'],
    [sum.num_running, 'running'],
    [sum.num_queued, 'queued'],
  ];
  const there = counts.filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}`);
  return there.join(', ') || 'none';
}

/** The member of a ranking entry that carries the rank metric under its own name. */
function rankMetricOf(entries: readonly RankingEntry[]): string {
  const others = ['task_id', 'dataset', 'pipeline', 'metrics'];
  return Object.keys(entries[0] ?? {}).find((key) => !others.includes(key)) ?? 'metric';
}

function ranking(job: JobView, labels: Map<string, string>, output: Output): string {
  const entries = job.aggregate.ranking;
  if (entries.length === 0) return '';
  const rankMetric = rankMetricOf(entries);
  const others = METRICS.filter(
    (name) => name !== rankMetric && entries.some((e) => typeof e.metrics[name] === 'number'),
  );
  const rows = entries
    .slice(0, SHOWN)
    .map((entry, i) => [
      String(i + 1),
      plain(entry.dataset),
      plain(pipelineOf(entry, labels)),
      metric((entry as Record<string, unknown>)[rankMetric]),
      ...others.map((name) => metric(entry.metrics[name])),
    ]);
  const columns = [
    { title: '#', align: 'right' as const },
    { title: 'dataset', flexible: true },
    { title: 'pipeline', flexible: true },
    ...[rankMetric, ...others].map((title) => ({ title: plain(title), align: 'right' as const })),
  ];
  return table(columns, rows, output) + leftOut(entries.length, output);
}

/** The pipeline's label, with the number that tells equal ones apart. */
function pipelineOf(entry: RankingEntry, labels: Map<string, string>): string {
  const number = /#\d+$/.exec(labels.get(entry.task_id) ?? '')?.[0];
  return number === undefined ? entry.pipeline : `${entry.pipeline} ${number}`;
}

function failures(job: JobView, labels: Map<string, string>, output: Output): string {
  const errors = Object.entries(job.aggregate.errors);
  if (errors.length === 0) return '';
  const { red, dim } = output.colours;
  const groups = grouped(errors.map(([id, why]) => [why, id]));
  const rows = groups.slice(0, SHOWN).map(({ text, members }) => {
    const times = members.length === 1 ? '' : `${members.length} × `;
    const named = members
      .slice(0, NAMED)
      .map((id) => `    ${plain(labels.get(id) ?? id)}  ${dim(plain(id))}`);
    const more = members.length > NAMED ? [dim(`    and ${members.length - NAMED} more`)] : [];
    return [wrap(`${times}${plain(text)}`, 2, output.width ?? Infinity), ...named, ...more].join('\n');
  });
  const { num_failed } = job.aggregate;
  const retried = errors.length - num_failed;
  const title = [
    num_failed > 0 && `${counted(num_failed, 'task')} failed`,
    retried > 0 && `${counted(retried, 'task')} with errors of earlier attempts`,
  ];
  return `${red(title.filter(Boolean).join(', '))}\n${rows.join('\n')}${leftOut(groups.length, output)}`;
}

/** Tasks of a group that are named. */
const NAMED = 5;

/** Texts that are the same, the most frequent first, each with what it was said of. */
function grouped(entries: readonly (readonly [text: string, member: string])[]) {
  const groups = new Map<string, string[]>();
  for (const [text, member] of entries) groups.set(text, [...(groups.get(text) ?? []), member]);
  return [...groups]
    .map(([text, members]) => ({ text, members }))
    .sort((a, b) => b.members.length - a.members.length);
}

/** What runners warned of, such as samples that were left out. */
function taskWarnings({ first }: KnownTasks): string[] {
  const said = first.flatMap(({ id, result }) => {
    const { warnings } = (result?.extra ?? {}) as { warnings?: unknown };
    return Array.isArray(warnings) ? warnings.map((text) => [String(text), id] as const) : [];
  });
  const groups = grouped(said);
  const lines = groups
    .slice(0, SHOWN)
    .map(({ text, members }) => `${text} (${counted(members.length, 'task')})`);
  return groups.length > SHOWN ? [...lines, `and ${groups.length - SHOWN} more`] : lines;
}

function leftOut(count: number, output: Output): string {
  return count > SHOWN
    ? `\n${output.colours.dim(`  and ${count - SHOWN} more; --json lists all of them`)}`
    : '';
}

/** Whoever pinned a fingerprint has to hear that something else was run. */
function oddPipelines({ mismatches }: KnownJob, labels: Map<string, string>): string[] {
  const lines = mismatches
    .slice(0, SHOWN)
    .map(
      ({ task_id, expected, reported }) =>
        `${labels.get(task_id) ?? task_id} ran a pipeline with ${reported === null ? 'no fingerprint' : `fingerprint ${reported}`}, not the expected ${expected}`,
    );
  const more = mismatches.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more with another fingerprint than expected`] : lines;
}
