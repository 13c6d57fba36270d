import { yamlText } from '../../machines/json/yaml-text.ts';
import { grouped, runnerWarnings } from '../../machines/ranking/failures.ts';
import { selectionLines } from '../../machines/ranking/selected.ts';
import { pipelineName } from '../../machines/ranking/steps.ts';
import { aligned, metricIn, rankMetricOf, shownMetrics } from '../../machines/ranking/table.ts';
import type { SettingCurve } from '../../machines/results/curve-file.ts';
import { groupBy } from '../../machines/results/group.ts';
import { measuredIn, type PredictionRow } from '../../machines/results/predictions.ts';
import { libraryVersionOf } from '../../machines/results/versions.ts';
import { isPrediction, libraryOf } from '../../machines/schema/job-types.ts';
import { hasEnded } from '../../machines/schema/statuses.ts';
import type { JobView, TaskView } from '../../machines/schema/views.ts';
import type { Indexed } from '../jobs/index-file.ts';
import { bestOf, bytes, counted, dateTime, duration } from '../terminal/format.ts';
import { jobWords } from '../terminal/status-style.ts';
import { href } from './href.ts';
import { type Html, html } from './html.ts';
import { predictionTable } from './prediction-table.ts';
import { curveSection, predictedSection } from './results.ts';
import { STYLE } from './style.ts';

export interface Reported {
  job: JobView;
  tasks: readonly TaskView[];
  /** The specification as it was submitted. */
  request: string;
  /** The task whose results are shown; null where there is none. */
  shown: TaskView | null;
  /** Of that; null where it left none, or none that can be read. */
  predictions: readonly PredictionRow[] | null;
  curves: readonly SettingCurve[] | null;
  files: readonly Indexed[];
  /** What the job named that only its workers have, in words. */
  elsewhere: readonly string[];
  /** Where it was run, when this was written, and by which version. */
  server: string;
  at: number;
  version: string;
}

/** Rows and metrics of the ranking that a reader wants in a page; the table beside it has all. */
const SHOWN = { ranking: 50, metrics: 8, failures: 20, files: 400, warnings: 50 };

/** All that is known of a job as one page that needs nothing but itself; files are linked to where they lie. */
export function reportPage(of: Reported): string {
  const { job } = of;
  const title = job.name ?? job.id;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1><bdi>${title}</bdi></h1>
${facts(of)}
${warnings(of)}
${ranking(job)}
${best(of)}
${failures(of)}
${versions(of)}
${specification(of)}
${files(of)}
<footer>Exported from ${of.server} at ${dateTime(of.at)} by jq-cluster ${of.version}. <code>jqctl import</code> of this folder submits the job again.</footer>
</main>
</body>
</html>
`.text;
}

function facts({ job, tasks }: Reported): Html {
  const { aggregate: sum, created_at, updated_at } = job;
  const done: [string, number][] = [
    ['succeeded', sum.num_succeeded],
    ['failed', sum.num_failed],
    ['cancelled', sum.num_cancelled],
    ['running', sum.num_running],
    ['queued', sum.num_queued],
  ];
  const counts = done.flatMap(([word, n]) => (n > 0 ? [`${n} ${word}`] : [])).join(', ');
  const rows: [string, string][] = [
    ['job', job.id],
    ['status', jobWords(job)],
    ['type', job.type],
    ...aboutOf(job),
    ['submitted', `${dateTime(created_at)}${job.owner === null ? '' : ` by ${job.owner}`}`],
    ...(hasEnded(job.status)
      ? ([['ended', `${dateTime(updated_at)}, after ${duration(updated_at - created_at)}`]] as [
          string,
          string,
        ][])
      : []),
    ['tasks', `${counted(sum.num_tasks, 'task')}: ${counts}`],
  ];
  const chosen = tasks.find(({ id }) => id === sum.best_task_id);
  if (sum.best_metric !== null) {
    rows.push([
      'best',
      `${bestOf(job)}${chosen ? `, ${pipelineName(chosen)} on ${chosen.dataset_label}` : ''}`,
    ]);
  }
  for (const line of selectionLines(sum)) rows.push(['selected', line]);
  return html`<dl>${rows.map(([name, value]) => html`<dt>${name}</dt><dd><bdi>${value}</bdi></dd>`)}</dl>`;
}

/** What a person has said of it. */
const aboutOf = ({ tags = [], note = null }: JobView): [string, string][] => [
  ...(tags.length > 0 ? [['tags', tags.join(', ')] as [string, string]] : []),
  ...(note === null ? [] : [['note', note] as [string, string]]),
];

/** Of the job, and what runners warned of, such as samples that were left out. */
function warnings({ job, tasks }: Reported): Html | null {
  const told = runnerWarnings(tasks);
  const of = told.map(({ text, members }) => `${text} (${counted(members.length, 'task')})`);
  const more = of.length - SHOWN.warnings;
  const list = [
    ...job.warnings,
    ...of.slice(0, SHOWN.warnings),
    ...(more > 0 ? [`and ${more} more; view.json has all of them`] : []),
  ];
  if (list.length === 0) return null;
  return html`<ul class="warnings">${list.map((text) => html`<li><bdi>${text}</bdi></li>`)}</ul>`;
}

function ranking({ type, aggregate }: JobView): Html | null {
  // What was predicted without reference values has no rank.
  if (aggregate.ranking.length === 0 || (isPrediction(type) && aggregate.best_metric === null)) return null;
  const rows = aggregate.ranking.slice(0, SHOWN.ranking);
  const by = rankMetricOf(aggregate);
  const metrics = shownMetrics(rows, by, SHOWN.metrics);
  const columns = metrics.map((name) =>
    aligned(
      rows.map((entry) => metricIn(entry, name)),
      '–',
    ),
  );
  const more = aggregate.num_succeeded - rows.length;
  return html`<h2>Ranking</h2>
<div class="wide"><table>
<thead><tr><th class="n">#</th><th>pipeline</th><th>dataset</th>${metrics.map((name) => html`<th class="n"><bdi>${name}</bdi></th>`)}</tr></thead>
<tbody>${rows.map(
    (
      entry,
      i,
    ) => html`<tr><td class="n">${metricIn(entry, by) === null ? '–' : i + 1}</td><th><bdi>${entry.pipeline_steps ?? entry.pipeline}</bdi></th><td><bdi>${entry.dataset}</bdi></td>
${columns.map((column) => html`<td class="n">${column[i]}</td>`)}</tr>`,
  )}</tbody></table></div>
${more > 0 && html`<p>and ${more} more, in <a href="ranking.csv">ranking.csv</a></p>`}`;
}

function best({ job, shown, predictions, curves, files: all }: Reported): Html | null {
  // What a job was to predict is worth a table; of what was held out, a picture says more.
  const predicted = isPrediction(job.type) ? (predictions ?? []) : [];
  const measured = measuredIn(predictions ?? []);
  if (predicted.length === 0 && measured.length === 0 && !curves?.length) return null;
  const file = all.find(({ what, task_id }) => what === 'predictions' && task_id === shown?.id);
  return html`<h2>${predicted.length > 0 ? 'Predictions' : 'The best'}</h2>
${shown && html`<p><bdi>${pipelineName(shown)} on ${shown.dataset_label}</bdi></p>`}
${predicted.length > 0 && predictionTable(predicted, file?.path)}
${measured.length > 0 && predictedSection(measured)}
${curves?.length ? curveSection(curves) : null}`;
}

function failures({ job, tasks }: Reported): Html | null {
  const failed = Object.entries(job.aggregate.errors);
  if (failed.length === 0) return null;
  const names = new Map(tasks.map((task) => [task.id, `${pipelineName(task)} on ${task.dataset_label}`]));
  const groups = grouped(failed.map(([id, why]) => [why, id] as const)).slice(0, SHOWN.failures);
  return html`<h2>What failed</h2>
${groups.map(
  ({ text, members }) => html`<pre>${text}</pre>
<p>${members.slice(0, 10).map((id, i) => html`${i > 0 && ', '}<bdi>${names.get(id) ?? id}</bdi>`)}${members.length > 10 && ` and ${members.length - 10} more`}</p>`,
)}`;
}

function versions({ job, tasks }: Reported): Html | null {
  const found = groupBy(
    tasks.filter(({ result }) => result !== null),
    ({ result }) => libraryVersionOf(job.type, result) ?? 'unknown',
  );
  if (found.size === 0) return null;
  return html`<h2>Versions</h2>
<ul>${[...found].map(([version, of]) => html`<li>${libraryOf(job.type)} <bdi>${version}</bdi>, ${counted(of.length, 'task')}</li>`)}</ul>
<p>What computed each result: <a href="versions.csv">versions.csv</a></p>`;
}

function specification({ request, elsewhere }: Reported): Html {
  return html`<h2>Specification</h2>
${
  elsewhere.length > 0 &&
  html`<p>Not in this folder, since only the workers have it:</p><ul>${elsewhere.map((what) => html`<li><bdi>${what}</bdi></li>`)}</ul>`
}
<pre>${yamlText(request)}</pre>`;
}

function files({ files: all }: Reported): Html {
  const more = all.length - SHOWN.files;
  return html`<h2>Files</h2>
<div class="wide"><table><thead><tr><th>file</th><th>what</th><th class="n">size</th></tr></thead>
<tbody>${all
    .slice(0, SHOWN.files)
    .map(
      ({ path, what, bytes: size }) =>
        html`<tr><td><a href="${href(path)}"><bdi>${path}</bdi></a></td><td><bdi>${what}</bdi></td><td class="n">${bytes(size)}</td></tr>`,
    )}</tbody></table></div>
${more > 0 && html`<p>and ${more} more, in <a href="index.csv">index.csv</a></p>`}`;
}
