import { aligned } from '../../machines/ranking/table.ts';
import {
  bestOf,
  bestOfJob,
  type ChosenMetric,
  type ComparedJob,
  type ComparedRow,
  letter,
  winnerOf,
} from '../../machines/results/compare.ts';
import type { Difference } from '../../machines/results/spec-diff.ts';
import { dateTime } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';
import { jobState } from './status-style.ts';
import { table } from './table.ts';

/** Rows that a person wants at a glance. */
const SHOWN = { rows: 30, differences: 60 };

interface Comparison {
  jobs: readonly ComparedJob[];
  choice: ChosenMetric;
  rows: readonly ComparedRow[];
  differences: readonly Difference[];
}

/** Several jobs side by side, for people. */
export function compareReport({ jobs, choice, rows, differences }: Comparison, output: Output): string {
  const { dim, yellow } = output.colours;
  const { metric, warning } = choice;
  return [
    overTime(jobs, choice, output),
    ...(warning === null ? [] : [`${yellow('warning:')} ${plain(warning)}`]),
    metric === undefined
      ? dim('no metric is reported by all of them, so that there is nothing to set side by side')
      : rankings(rows, choice, jobs.length, output),
    diff(differences, output),
  ].join('\n\n');
}

function overTime(jobs: readonly ComparedJob[], choice: ChosenMetric, output: Output): string {
  const { bold } = output.colours;
  const { metric, mode, isAlike } = choice;
  const bests = jobs.map((job) => bestOfJob(job, choice));
  // What was measured on other samples is no better for being smaller.
  const top = isAlike && mode ? bestOf(bests, mode) : null;
  const written = aligned(bests, '-');
  const order = [...jobs.keys()].sort(
    (a, b) => (jobs[a]?.job.created_at ?? 0) - (jobs[b]?.job.created_at ?? 0),
  );
  const lines = order.map((place) => {
    const { job, versions } = jobs[place] as ComparedJob;
    const best = written[place] as string;
    return [
      bold(letter(place)),
      plain(job.id),
      plain(job.name ?? '-'),
      jobState(job, output.colours),
      dateTime(job.created_at),
      top !== null && bests[place] === top ? bold(best) : best,
      plain(versions.join(', ') || '-'),
    ];
  });
  const end = isAlike && mode ? `${mode === 'min' ? 'smallest' : 'largest'} ` : '';
  const columns = [
    { title: '' },
    { title: 'job', ids: true },
    { title: 'name', flexible: true },
    { title: 'status' },
    { title: 'submitted', optional: true },
    { title: metric === undefined ? 'best' : `${end}${plain(metric)}`, align: 'right' as const },
    { title: 'library', flexible: true },
  ];
  return table(columns, lines, output);
}

function rankings(
  rows: readonly ComparedRow[],
  { mode, isAlike }: ChosenMetric,
  jobs: number,
  output: Output,
): string {
  const { bold, dim } = output.colours;
  const shown = rows.slice(0, SHOWN.rows);
  const numbers = aligned(
    shown.flatMap(({ values }) => values),
    '-',
  );
  const lines = shown.map(({ pipeline, dataset, values }, row) => {
    const best = winnerOf(rows[row] as ComparedRow, { mode, isAlike });
    const cells = values.map((value, job) => {
      const text = numbers[row * jobs + job] as string;
      return value !== null && value === best ? bold(text) : text;
    });
    return [plain(pipeline), plain(dataset), ...cells];
  });
  const columns = [
    { title: 'pipeline', flexible: true },
    { title: 'dataset', flexible: true },
    ...Array.from({ length: jobs }, (_, i) => ({ title: letter(i), align: 'right' as const })),
  ];
  const more = rows.length - shown.length;
  const rest = more > 0 ? `\n${dim(`and ${more} more; --json lists all of them`)}` : '';
  return table(columns, lines, output) + rest;
}

function diff(differences: readonly Difference[], output: Output): string {
  const { bold, dim } = output.colours;
  if (differences.length === 0) return 'nothing differs in pipelines, data, parameters and library versions';
  const parts = differences.slice(0, SHOWN.differences).map(({ what, values }) => {
    const lines = values.map(
      (value, place) => `  ${bold(letter(place))}  ${value === null ? dim('not there') : plain(value)}`,
    );
    return [plain(what), ...lines].join('\n');
  });
  const more = differences.length - parts.length;
  if (more > 0) parts.push(dim(`and ${more} more; --json lists all of them`));
  return parts.join('\n');
}
