import { JOB_STATUSES, TASK_STATUSES } from '../../machines/schema/statuses.ts';
import type { JobStatus, JobView, TaskStatus, WorkerView } from '../../machines/schema/views.ts';
import { type Condition, conditionOf } from '../../machines/worker/condition.ts';
import { type ClusterSnapshot, throughput } from '../jobs/cluster-snapshot.ts';
import { bar, sparkline } from './bar.ts';
import { ago, bestOf, clock } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';
import { jobState, styled, workerState } from './status-style.ts';
import { type Column, facts, table } from './table.ts';

/** Columns from which a table has room for more than the most important. */
const ROOMY = 110;
const MOST_MINUTES = 60;
/** Columns of the names of the numbers, with their gap. */
const NAMES = 9;
/** Lines around the two tables: the header, their titles and the blank lines between them. */
const FRAME = 11;
/** Rows of tables below which there are no curves, and lines that the curves take. */
const LEAST = 5;
const CURVES = 2;
/** What a list shows where no terminal bounds it. */
const MANY = 20;

interface Shown {
  server: string;
  now: ClusterSnapshot;
  before?: ClusterSnapshot | undefined;
  /** Lines that there are; infinite where nothing bounds them. */
  height: number;
}

/** The cluster on one screen: numbers, the last hour, jobs and workers. */
export function clusterReport({ server, now, before, height }: Shown, output: Output): string {
  const all = numbers(now, before, output);
  // Where there is hardly room, the curves go first.
  const shown = height < FRAME + LEAST ? all.slice(0, -CURVES) : all;
  const room = Number.isFinite(height) ? Math.max(height - FRAME + all.length - shown.length, 2) : 2 * MANY;
  // A third at most for workers, and whatever the jobs leave.
  const forWorkers = Math.min(now.workers.length, Math.max(1, Math.floor(room / 3), room - now.jobs.length));
  const parts = [
    heading(server, now, output),
    facts(shown, output),
    jobTable(now, room - forWorkers, output),
    workerTable(now, forWorkers, output),
  ];
  return parts.join('\n\n');
}

function heading(server: string, { at, stats }: ClusterSnapshot, { colours, width }: Output): string {
  const left = `${plain(server)}  version ${plain(stats.server_version)}`;
  const time = clock(at);
  const gap = Math.max(2, (width ?? 0) - left.length - time.length);
  return `${colours.bold(plain(server))}${left.slice(plain(server).length)}${' '.repeat(gap)}${colours.dim(time)}`;
}

const thousands = (n: number): string => n.toLocaleString('en-US');
const rounded = (n: number): string => n.toLocaleString('en-US', { notation: 'compact' });

function numbers(
  now: ClusterSnapshot,
  before: ClusterSnapshot | undefined,
  output: Output,
): [string, string][] {
  const { stats, workers, history } = now;
  const alive = workers.filter(({ status }) => status === 'alive');
  const sum = (of: (worker: WorkerView) => number) => alive.reduce((total, worker) => total + of(worker), 0);
  const [used, total] = [sum((worker) => worker.slots_used), sum((worker) => worker.slots_total)];
  const [ended, queue] = curves(
    [
      { present: rateOf(now, before), values: history.map((m) => m.succeeded + m.failed), unit: ' a minute' },
      {
        present: `${thousands(stats.tasks_by_status.queued ?? 0)} now`,
        values: history.map((m) => m.queued),
        unit: '',
      },
    ],
    output,
  ) as [string, string];
  return [
    ['jobs', counts(stats.jobs_by_status, JOB_STATUSES, output)],
    ['tasks', counts(stats.tasks_by_status, TASK_STATUSES, output)],
    [
      'workers',
      `${conditions(workers, output)}   ${output.colours.cyan(bar(used / total, 10))} ` +
        `${used} of ${total} slots in use`,
    ],
    ['ended', ended],
    ['queue', queue],
  ];
}

/** How many workers stand how; of those that live, apart which ask for no tasks. */
function conditions(workers: WorkerView[], { colours }: Output): string {
  const count = (...of: Condition[]) => workers.filter((worker) => of.includes(conditionOf(worker))).length;
  const idle = (['suspended', 'draining', 'drained'] as const).filter((condition) => count(condition) > 0);
  const apart = idle.map((condition) => colours.yellow(`${count(condition)} ${condition}`)).join(', ');
  const stopped = count('stopped') > 0 ? `, ${count('stopped')} stopped` : '';
  const alive = count('alive', 'suspended', 'draining', 'drained');
  return `${alive} alive${apart === '' ? '' : ` (${apart})`}, ${count('dead')} dead${stopped}`;
}

function rateOf(now: ClusterSnapshot, before: ClusterSnapshot | undefined): string {
  const rate = throughput(before, now);
  if (rate !== undefined) return `${rate < 10 ? rate.toFixed(1) : thousands(Math.round(rate))} a second`;
  const last = now.history.at(-2);
  return `${thousands((last?.succeeded ?? 0) + (last?.failed ?? 0))} last minute`;
}

interface Curve {
  present: string;
  values: number[];
  unit: string;
}

/** Each a number, the last hour as a curve as far as there is room, and what its peak is; below each other. */
function curves(list: Curve[], { colours, width }: Output): string[] {
  const peaks = list.map(({ values, unit }) => `peak ${thousands(Math.max(...values, 0))}${unit}`);
  const widest = Math.max(...peaks.map((peak) => peak.length));
  const first = Math.max(16, ...list.map(({ present }) => present.length + 2));
  const room = Math.min(MOST_MINUTES, (width ?? Infinity) - NAMES - first - 2 - widest);
  return list.map(({ present, values }, i) => {
    const line = room < 10 ? '' : `${colours.cyan(sparkline(values.slice(-room)).padStart(room))}  `;
    return `${present.padEnd(first)}${line}${colours.dim(peaks[i] as string)}`;
  });
}

/** `2 queued, 1 running`; where that is too long, large numbers are rounded. */
function counts(
  byStatus: Record<string, number>,
  order: readonly (JobStatus | TaskStatus)[],
  { colours, width }: Output,
): string {
  const there = order.filter((status) => (byStatus[status] ?? 0) > 0);
  const long = there.map((status) => `${thousands(byStatus[status] ?? 0)} ${status}`).join(', ');
  const form = long.length > (width ?? Infinity) - NAMES ? rounded : thousands;
  const parts = there.map((status) => `${form(byStatus[status] ?? 0)} ${styled(status, colours)}`);
  return parts.join(', ') || 'none';
}

interface Section {
  title: string;
  columns: Column[];
  rows: string[][];
  /** How many there are in all; the rows may be the first of them. */
  total: number;
  room: number;
}

/** A title and as many of the rows as fit, with how many are left out. */
function section({ title, columns, rows, total, room }: Section, output: Output): string {
  const shown = Math.max(rows.length, total) > room ? rows.slice(0, Math.max(room - 1, 1)) : rows;
  const left = Math.max(rows.length, total) - shown.length;
  const more = left > 0 && room > 1 ? `\n${output.colours.dim(`and ${thousands(left)} more`)}` : '';
  if (rows.length === 0) return output.colours.dim(`no ${title}`);
  return table(columns, shown, output) + more;
}

function jobTable({ jobs, stats, at }: ClusterSnapshot, room: number, output: Output): string {
  const roomy = (output.width ?? ROOMY) >= ROOMY;
  const columns: Column[] = [
    { title: 'job' },
    { title: 'name', flexible: true },
    { title: 'status' },
    { title: 'tasks', align: roomy ? 'left' : 'right' },
    ...(roomy ? [{ title: 'best', align: 'right' as const }] : []),
    { title: 'submitted', align: 'right' },
  ];
  const rows = jobs.map((job) => [
    plain(job.id),
    plain(job.name ?? '-'),
    jobState(job, output.colours),
    tasksOf(job, roomy),
    ...(roomy ? [bestOf(job)] : []),
    ago(at - job.created_at),
  ]);
  const total = Object.values(stats.jobs_by_status).reduce((sum, n) => sum + n, 0);
  return section({ title: 'jobs', columns, rows, total, room }, output);
}

function tasksOf({ aggregate: sum }: JobView, roomy: boolean): string {
  const done = sum.num_succeeded + sum.num_failed + sum.num_cancelled;
  const text = `${done}/${sum.num_tasks}`;
  return roomy ? `${bar(done / sum.num_tasks, 12)} ${text}` : text;
}

function workerTable({ workers, at }: ClusterSnapshot, room: number, output: Output): string {
  const roomy = (output.width ?? ROOMY) >= ROOMY;
  const columns: Column[] = [
    { title: 'worker', flexible: true },
    { title: 'status' },
    { title: 'slots' },
    { title: 'labels', flexible: true },
    { title: 'seen', align: 'right' },
    ...(roomy ? [{ title: 'id' }] : []),
  ];
  // Those that work first, then those that wait, then the dead, and last those that ended as they should.
  const rank = (worker: WorkerView) =>
    worker.status === 'alive' ? (worker.slots_used > 0 ? 0 : 1) : conditionOf(worker) === 'dead' ? 2 : 3;
  const rows = [...workers]
    .sort((a, b) => rank(a) - rank(b) || b.last_seen_at - a.last_seen_at)
    .map((worker) => [
      plain(worker.name ?? (roomy ? '-' : worker.id)),
      workerState(worker, output.colours),
      `${bar(worker.slots_used / worker.slots_total, 6)} ${worker.slots_used}/${worker.slots_total}`,
      plain(labelsOf(worker)),
      ago(at - worker.last_seen_at),
      ...(roomy ? [plain(worker.id)] : []),
    ]);
  return section({ title: 'workers', columns, rows, total: rows.length, room }, output);
}

const labelsOf = ({ labels }: WorkerView): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',') || '-';
