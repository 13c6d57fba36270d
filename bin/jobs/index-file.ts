import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipelineName } from '../../machines/ranking/steps.ts';
import { metricIn, rankMetricOf } from '../../machines/ranking/table.ts';
import { csvLine, readCsv, textOfCell } from '../../machines/results/csv.ts';
import type { JobView, TaskView } from '../../machines/schema/views.ts';
import { usageError } from '../cli/exit.ts';

/** What is what in a folder of files of a job. */
export const INDEX_FILE = 'index.csv';

/** A file, and what it is. */
export interface Indexed {
  /** Below the folder, with `/` between its parts. */
  path: string;
  /** The role of an artifact, or what the file is for. */
  what: string;
  task_id: string | null;
  artifact_id: string | null;
  bytes: number;
  /** Empty where the server told none. */
  sha256: string;
}

/** What is known of the job that the files are of. */
export interface KnownResults {
  job: JobView;
  tasks: readonly TaskView[];
}

const COLUMNS = [
  'path',
  'what',
  'rank',
  'metric',
  'value',
  'pipeline',
  'dataset',
  'task',
  'artifact',
  'bytes',
  'sha256',
];

/** Writes what is what; of what an earlier command left in the same folder, the lines stay as long as their files do. */
export async function writeIndex(
  folder: string,
  files: readonly Indexed[],
  known: KnownResults,
): Promise<void> {
  const paths = new Set(files.map(({ path }) => path));
  const earlier = await linesOf(folder).catch(() => []);
  const kept: string[][] = [];
  for (const cells of earlier) {
    const path = textOfCell(cells[0] ?? '');
    if (!paths.has(path) && (await isThere(join(folder, path)))) kept.push(cells.map(textOfCell));
  }
  const written = [...kept, ...cellsOf(files, known)].map((cells) => csvLine(cells));
  await writeFile(join(folder, INDEX_FILE), [csvLine(COLUMNS), ...written].join(''));
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

function* cellsOf(files: readonly Indexed[], { job, tasks }: KnownResults) {
  const { ranking } = job.aggregate;
  const metric = rankMetricOf(job.aggregate);
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const places = new Map(
    ranking.map((entry, i) => [entry.task_id, { rank: i + 1, value: metricIn(entry, metric) }]),
  );
  for (const { path, what, artifact_id, bytes, sha256, ...file } of files) {
    // The best model is kept of the job, and made by the best of its tasks.
    const task_id = what === 'best_model' ? job.aggregate.best_task_id : file.task_id;
    const task = task_id === null ? undefined : byId.get(task_id);
    const place = task_id === null ? undefined : places.get(task_id);
    const ranked = place && place.value !== null ? [place.rank, metric, place.value] : [null, null, null];
    const named = task ? [pipelineName(task), task.dataset_label] : [null, null];
    yield [path, what, ...ranked, ...named, task_id, artifact_id, bytes, sha256];
  }
}

/** The lines of an index below its head. @throws Error where there is none */
async function linesOf(folder: string): Promise<string[][]> {
  const [head = [], ...lines] = readCsv(await readFile(join(folder, INDEX_FILE), 'utf8'));
  if (head.join() !== COLUMNS.join())
    throw usageError(`${join(folder, INDEX_FILE)} is not the index of an export`);
  return lines;
}

/** What an index says of the files of its folder. @throws Error where there is none */
export async function readIndex(
  folder: string,
): Promise<Pick<Indexed, 'path' | 'what' | 'bytes' | 'sha256'>[]> {
  const place = (column: string) => COLUMNS.indexOf(column);
  return (await linesOf(folder)).map((cells) => ({
    path: textOfCell(cells[place('path')] ?? ''),
    what: cells[place('what')] ?? '',
    bytes: Number(cells[place('bytes')]),
    sha256: cells[place('sha256')] ?? '',
  }));
}
