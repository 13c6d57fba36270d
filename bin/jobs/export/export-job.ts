import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { readAs, replyOf } from '../../../gateway/client/replies.ts';
import { PACKAGE_VERSION } from '../../../gateway/version.ts';
import { compose, members, RawJson } from '../../../machines/json/raw.ts';
import { parseCurves } from '../../../machines/results/curve-file.ts';
import { readPredictions } from '../../../machines/results/predictions.ts';
import { isPrediction } from '../../../machines/schema/job-types.ts';
import { ArtifactView, type JobView, TaskView } from '../../../machines/schema/views.ts';
import { asNow } from '../../../machines/submission/resubmitted.ts';
import type { Session } from '../../cli/client-command.ts';
import { usageError } from '../../cli/exit.ts';
import { localError } from '../../cli/local-error.ts';
import { reportPage } from '../../report/page.ts';
import { type Download, planDownloads } from '../download.ts';
import { arrived, fetchDownloads } from '../fetch-downloads.ts';
import { history } from '../follow/follow.ts';
import { taskPages } from '../follow/task-pages.ts';
import { INDEX_FILE, type Indexed, writeIndex } from '../index-file.ts';
import { taskFolders } from '../task-folders.ts';
import { INPUTS, inputsOf, jobFileOf } from './inputs.ts';
import { versionsCsv } from './versions.ts';

/** The files of an export beside those of tasks, and what each is; the last is written when all others are there. */
export const FILES = {
  'report.html': 'all of it on one page',
  'job.json': 'the specification, to submit it again: jqctl import',
  'submitted.json': 'the specification as it was submitted',
  'view.json': 'the job and its tasks as the server showed them',
  'ranking.csv': 'the ranking with all metrics',
  'versions.csv': 'which versions computed each result',
  'events.jsonl': 'everything that happened',
  [INDEX_FILE]: 'what is what',
} as const;
type FileName = keyof typeof FILES;

export interface Exported {
  job: JobView;
  downloads: readonly Download[];
  files: readonly Indexed[];
  /** What the job named that only its workers have, in words. */
  elsewhere: readonly string[];
}

/**
 * Writes everything of a job into a new folder. What could not be downloaded is noted on its entry; the rest is there.
 * @throws CliError when the folder cannot be used
 */
export async function exportJob(session: Session, jobId: string, folder: string): Promise<Exported> {
  await makeFolder(folder);
  const { client } = session;
  const params = { id: jobId };
  const [jobText, request, ranking] = await Promise.all([
    client.callText('getJob', { params }),
    client.callText('getJobRequest', { params }),
    client.callText('getJobRanking', { params, query: { format: 'csv' } }),
  ]);
  const job = replyOf('getJob', jobText);
  const written = new Written(folder);
  const tasks = await written.view(client, jobId, jobText);
  await written.lines('events.jsonl', texts(history(client, jobId)));
  await written.text('ranking.csv', ranking);
  await written.text('versions.csv', await versionsCsv(client, job.type, tasks));
  await written.text('submitted.json', request);
  const { downloads, elsewhere } = await fetchAll(session, { jobId, request, tasks, folder });
  const here = arrived(downloads);
  const paths = here.flatMap(({ path, artifact_id }) =>
    path.startsWith(`${INPUTS}/`) && artifact_id !== null ? [[artifact_id, path] as const] : [],
  );
  await written.text('job.json', asNow(jobFileOf(request, new Map(paths)), job));
  const known = { job, tasks, request, elsewhere, files: [...written.files, ...here] };
  const shown = shownTask(job, tasks);
  const best = await filesOf(folder, shown, here);
  const of = { server: client.server, at: Date.now() / 1000, version: PACKAGE_VERSION };
  await written.text('report.html', reportPage({ ...known, shown, ...best, ...of }));
  const files = [...written.files, ...here];
  await writeIndex(folder, files, { job, tasks });
  return { job, downloads, files, elsewhere };
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    if ((await readdir(folder)).length === 0) return;
  } catch (error) {
    throw usageError(`cannot use the folder ${localError(error) ?? folder}`, 'choose another --to');
  }
  throw usageError(`the folder ${folder} is not empty`, 'an export is a folder of its own: name a new one');
}

interface Wanted {
  jobId: string;
  request: string;
  tasks: readonly TaskView[];
  folder: string;
}

/** The artifacts of the job, and what was uploaded for it. */
async function fetchAll(session: Session, { jobId, request, tasks, folder }: Wanted) {
  const { client } = session;
  const listed = (await client.callList('listJobArtifacts', { params: { id: jobId } }))
    .map((text) => readAs(ArtifactView, text, 'an artifact of the list'))
    // The bytes of the others were deleted, as the server is set.
    .filter(({ expired_at }) => (expired_at ?? null) === null);
  const inputs = await inputsOf(client, request);
  const taken = [...Object.keys(FILES), INPUTS];
  const downloads = [...inputs.downloads, ...planDownloads(listed, taskFolders(tasks), taken)];
  const open = downloads.filter(({ fault }) => fault === undefined);
  if (open.length > 0) await fetchDownloads(session, folder, open);
  return { downloads, elsewhere: inputs.elsewhere };
}

/** The task that a report shows: the best, or what was predicted first, which nobody can rank without reference values. */
function shownTask({ type, aggregate }: JobView, tasks: readonly TaskView[]): TaskView | null {
  const first = isPrediction(type) ? tasks.find(({ status }) => status === 'succeeded') : undefined;
  return tasks.find(({ id }) => id === aggregate.best_task_id) ?? first ?? null;
}

/** What a task predicted, and its curves, as far as it left them and they can be read. */
async function filesOf(folder: string, task: TaskView | null, files: readonly Indexed[]) {
  const read = async <Read>(role: string, parse: (text: string) => Read): Promise<Read | null> => {
    const file = files.find(({ what, task_id }) => what === role && task_id !== null && task_id === task?.id);
    if (file === undefined) return null;
    try {
      return parse(await readFile(join(folder, file.path), 'utf8'));
    } catch {
      return null;
    }
  };
  const predictions = await read('predictions', readPredictions);
  return { predictions, curves: await read('curves', parseCurves) };
}

async function* texts(frames: AsyncIterable<{ text: string }>): AsyncGenerator<string> {
  for await (const { text } of frames) yield text;
}

/** Files of the folder that are written here. */
class Written {
  readonly files: Indexed[] = [];
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  text(name: FileName, text: string): Promise<void> {
    return this.#write(name, [text.endsWith('\n') ? text : `${text}\n`]);
  }

  lines(name: FileName, list: AsyncIterable<string>): Promise<void> {
    return this.#write(
      name,
      (async function* () {
        for await (const line of list) yield `${line}\n`;
      })(),
    );
  }

  /** The job with the member `tasks`, numbers as the server wrote them; the tasks. */
  async view(client: ClusterClient, jobId: string, jobText: string): Promise<TaskView[]> {
    const tasks: TaskView[] = [];
    const parts = [...members(jobText)].map(([key, text]) => [key, new RawJson(text)] as const);
    const pieces = async function* () {
      yield `${compose(Object.fromEntries(parts)).slice(0, -1)},"tasks":[`;
      let before = '\n';
      for await (const page of taskPages(client, jobId)) {
        for (const text of page) {
          tasks.push(readAs(TaskView, text, 'a task of the list'));
          yield before + text;
          before = ',\n';
        }
      }
      yield ']}\n';
    };
    await this.#write('view.json', pieces());
    return tasks;
  }

  async #write(name: FileName, pieces: Iterable<string> | AsyncIterable<string>): Promise<void> {
    const hash = createHash('sha256');
    let bytes = 0;
    const counted = async function* () {
      for await (const piece of pieces) {
        const chunk = Buffer.from(piece);
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    };
    await pipeline(Readable.from(counted()), createWriteStream(join(this.#folder, name), { flags: 'wx' }));
    this.files.push({
      ...{ path: name, what: FILES[name], task_id: null, artifact_id: null },
      ...{ bytes, sha256: hash.digest('hex') },
    });
  }
}
