import { readFileSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import { machineLine } from '../spec/support/report.ts';
import { type Figure, type Figures, judge, type Verdict } from './figures.ts';
import { median } from './load/quantiles.ts';
import type { Profile, Profiles } from './profile.ts';
import type { Unit, Workload } from './workload.ts';

const FILE = fileURLToPath(new URL('REPORT.md', import.meta.url));
const NOTES = fileURLToPath(new URL('NOTES.md', import.meta.url));
/** Load average above which a machine of two processors is not ours alone. */
const BUSY = 3;
const HEAD = ['figure', 'median', 'spread', 'target', 'reached', 'server CPU', 'peak MiB'];

/** One table with a row for each figure, for the terminal. */
export function printTable(figures: Figures, workloads: readonly Workload[]): string {
  const table = new Table({ head: HEAD, style: { head: [], border: [], compact: true } });
  for (const { name } of workloads) {
    for (const figure of ofWorkload(figures, name)) table.push(cells(figure, figures, false));
  }
  return table.toString();
}

/** Writes `bench/REPORT.md`: machine and versions, the table by workload, and the notes beside it. */
export function writeReport(
  figures: Figures,
  profiles: Profiles,
  workloads: readonly Workload[],
  file: string = FILE,
): void {
  const sections = workloads
    .map(({ name, about }) => ({ name, about, rows: ofWorkload(figures, name) }))
    .filter(({ rows }) => rows.length > 0)
    .map(({ name, about, rows }) => {
      const dates = [...new Set(rows.map((row) => row.measured))].join('; ');
      const table = markdownTable([HEAD, ...rows.map((row) => cells(row, figures, true))]);
      return `## ${name}\n\n${about}\nMeasured ${dates}.${busyText(rows)}\n\n${table}\n${profileText(profiles[name])}`;
    });
  const text = [intro(), summary(figures), ...sections, readFileSync(NOTES, 'utf8').trim(), ''];
  writeFileSync(file, text.join('\n'));
}

/** Columns of one width, as the formatter of this repository has them; the first row is the head. */
function markdownTable(rows: readonly string[][]): string {
  const widths = HEAD.map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)));
  const [head = '', ...body] = rows.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  );
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [head, rule, ...body].join('\n');
}

/**
 * Says so where other programs had the processors meanwhile: such figures are a lower bound at best. Of several runs the
 * least load counts, since what a later one finds is mostly the run before it.
 */
function busyText(rows: readonly Figure[]): string {
  const load = rows.find(({ id }) => id.endsWith('.load'));
  const average = load ? Math.min(...load.values) : 0;
  return average > BUSY
    ? ` **The machine was busy with other work (load average ${bare(average)} or more): to be measured again.**`
    : '';
}

/** The profile of a workload, as two lists. */
function profileText(profile: Profile | undefined): string {
  if (!profile) return '';
  const list = (entries: [string, number][]) =>
    entries.map(([name, share]) => `${name} ${(share * 100).toFixed(1)} %`).join(', ');
  return `
Where the server's main thread worked (profiled ${profile.measured}, ${bare(profile.seconds)} s of work), by file or package:
${list(profile.places)}.

By function: ${list(profile.functions)}.
`;
}

function intro(): string {
  return `# What it costs

${machineLine()} Linux ${release()}, SQLite ${versionOf('sqlite3')} (driver), uWebSockets.js ${versionOf('uWebSockets.js')}, XState ${versionOf('xstate')}.

Written by \`npm run bench\`, which replaces the sections of the workloads that it measured. Server, load generator and
everything else share the machine's processors; the store lies on a disk and every commit is synced
(\`synchronous=FULL\`). Medians over the runs; the spread is the smallest and the largest. _server CPU_ is the processor
time of the server process, all threads, per job, task or request; _peak_ its highest resident memory. A ratio with
"×" is the figure over what the target refers to.
`;
}

function versionOf(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Which targets are not reached, first of all. */
function summary(figures: Figures): string {
  const verdicts = Object.values(figures).flatMap((figure) =>
    judge(figure, figures).map((verdict) => ({ figure, verdict })),
  );
  const missed = verdicts.filter(({ verdict }) => verdict.known && !verdict.reached);
  const unknown = verdicts.filter(({ verdict }) => !verdict.known).length;
  const reached = verdicts.length - missed.length - unknown;
  const lines = missed.map(
    ({ figure, verdict }) =>
      `- ${figure.workload}: ${figure.what}: ${show(median(figure.values), figure.unit)}, target ${targetText(figure, verdict)}, reached ${reachedText(verdict)}`,
  );
  const head = `Targets reached: ${reached} of ${verdicts.length - unknown}${unknown ? `, ${unknown} lack the figure they refer to` : ''}.`;
  return `${head}${missed.length > 0 ? ' **Not reached:**' : ''}\n\n${lines.join('\n')}\n`;
}

const ofWorkload = (figures: Figures, workload: string): Figure[] =>
  Object.values(figures).filter((figure) => figure.workload === workload);

function cells(figure: Figure, figures: Figures, markdown: boolean): string[] {
  const { what, unit, values, cpuMicroseconds, peakBytes } = figure;
  const verdicts = judge(figure, figures);
  const mark = (verdict: Verdict) => {
    const text = reachedText(verdict);
    return verdict.reached || !verdict.known ? text : markdown ? `**not: ${text}**` : `NOT: ${text}`;
  };
  return [
    markdown ? what : `${figure.workload}: ${what}`,
    show(median(values), unit),
    values.length > 1
      ? `${bare(Math.min(...values))}–${bare(Math.max(...values))} (${values.length})`
      : '1 run',
    verdicts.map((verdict) => targetText(figure, verdict)).join('; '),
    verdicts.map(mark).join('; '),
    cpuMicroseconds ? `${bare(median(cpuMicroseconds.values))} µs/${cpuMicroseconds.per}` : '',
    peakBytes ? bare(median(peakBytes) / 2 ** 20) : '',
  ];
}

function targetText(figure: Figure, { target, known, limit }: Verdict): string {
  const sign = target.bound === 'at least' ? '≥' : '≤';
  if (target.of === undefined) return `${sign} ${show(limit, figure.unit)}`;
  return `${sign} ${bare(target.value)} × ${target.of}${known ? ` (${show(limit, figure.unit)})` : ''}`;
}

function reachedText({ known, ratio, reached }: Verdict): string {
  return known ? `${ratio.toPrecision(2)} ×${reached ? ' ✓' : ''}` : 'unknown';
}

/** Three digits, thousands separated. */
export function bare(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

function show(value: number, unit: Unit): string {
  return unit === '/s' ? `${bare(value)}/s` : `${bare(value)} ${unit}`.trim();
}
