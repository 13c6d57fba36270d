import { keptWords } from '../../machines/job/keep.ts';
import { remainingWords } from '../../machines/job/remaining.ts';
import { runnerWarnings } from '../../machines/ranking/failures.ts';
import { selectionLines } from '../../machines/ranking/selected.ts';
import { pipelineName } from '../../machines/ranking/steps.ts';
import { hasEnded } from '../../machines/schema/statuses.ts';
import type { JobView } from '../../machines/schema/views.ts';
import type { Mismatch } from '../jobs/follow/fingerprints.ts';
import { taskLabels } from '../jobs/follow/task-board.ts';
import type { KnownTasks } from '../jobs/follow/task-pages.ts';
import { taskBar } from './bar.ts';
import { failureReport } from './failure-report.ts';
import { bestOf, counted, dateTime, duration, wholeDuration } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';
import { rankingReport } from './ranking-report.ts';
import { jobState } from './status-style.ts';
import { facts } from './table.ts';
import { waitingLines } from './waiting.ts';

/** Warnings that a person wants at a glance. */
const SHOWN = 20;
/** Columns of the bar of tasks. */
const BAR = 12;

export interface KnownJob {
  job: JobView;
  tasks: KnownTasks;
  /** Repeated and changed submissions of it. */
  again: readonly string[];
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
    heading(known, output),
    rankingReport(job, labels, output),
    failureReport(job, tasks.first, labels, output),
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
  new Map([...first, ...failed].map((task) => [task.id, `${task.dataset_label} · ${pipelineName(task)}`]));

function heading({ job, again }: KnownJob, output: Output): string {
  const { bold } = output.colours;
  const { aggregate: sum } = job;
  // The error of its only task stands below.
  const isSaid = sum.num_tasks === 1 && Object.values(sum.errors).includes(job.error ?? '');
  const reason = job.status === 'failed' && !isSaid ? job.error : null;
  const rows: [string, string][] = [
    ['job', `${bold(plain(job.id))}${job.name === null ? '' : `  ${plain(job.name)}`}`],
    // While it goes on, or where others succeeded, the reason of one task says nothing of the job.
    [
      'status',
      `${jobState(job, output.colours)}${job.phase ? `, ${job.phase}` : ''}${reason === null ? '' : `: ${plain(reason)}`}`,
    ],
    ['type', `${plain(job.type)}${job.priority === 0 ? '' : `, priority ${job.priority}`}`],
    ...aboutOf(job),
    ['submitted', `${dateTime(job.created_at)}${job.owner === null ? '' : ` by ${plain(job.owner)}`}`],
    ...(job.resubmitted_from ? [['again from', plain(job.resubmitted_from)] as [string, string]] : []),
    ...(again.length > 0 ? [['run again', again.map(plain).join(', ')] as [string, string]] : []),
    ...timeOf(job),
    ...keptOf(job),
    ['tasks', `${taskBar(sum, BAR, output.colours)} ${counted(sum.num_tasks, 'task')}: ${countsOf(job)}`],
  ];
  if (sum.best_metric !== null) {
    rows.push(['best', bestOf(job, bold)]);
  }
  for (const [i, line] of selectionLines(sum).entries()) rows.push([i === 0 ? 'selected' : '', plain(line)]);
  return facts(rows, output);
}

/** What a person has said of it; a note may have several lines. */
function aboutOf({ tags = [], note = null }: JobView): [string, string][] {
  const lines = note?.split('\n') ?? [];
  return [
    ...(tags.length > 0 ? [['tags', plain(tags.join(', '))] as [string, string]] : []),
    ...lines.map((line, i): [string, string] => [i === 0 ? 'note' : '', plain(line)]),
  ];
}

function keptOf(job: JobView): [string, string][] {
  const words = keptWords(job, dateTime);
  return words === null ? [] : [['kept', plain(words)]];
}

function timeOf({ status, created_at, updated_at, estimate }: JobView): [string, string][] {
  if (!hasEnded(status)) {
    const now = Date.now() / 1000;
    const left = estimate ? [remainingWords(estimate, now, wholeDuration)] : [];
    return [['elapsed', [wholeDuration(now - created_at), ...left].join(', ')]];
  }
  return [['ended', `${dateTime(updated_at)}, after ${duration(updated_at - created_at)}`]];
}

function countsOf({ aggregate: sum }: JobView): string {
  const counts: [number, string][] = [
    [sum.num_succeeded, sum.num_reused > 0 ? `succeeded (${sum.num_reused} reused)` : 'succeeded'],
    [sum.num_failed, 'failed'],
    [sum.num_cancelled, 'cancelled'],
    [sum.num_running, 'running'],
    [sum.num_queued, 'queued'],
  ];
  const there = counts.filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}`);
  return there.join(', ') || 'none';
}

/** What runners warned of, such as samples that were left out. */
function taskWarnings({ first }: KnownTasks): string[] {
  const groups = runnerWarnings(first);
  const lines = groups
    .slice(0, SHOWN)
    .map(({ text, members }) => `${text} (${counted(members.length, 'task')})`);
  return groups.length > SHOWN ? [...lines, `and ${groups.length - SHOWN} more`] : lines;
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
