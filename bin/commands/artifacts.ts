import { Option } from 'clipanion';
import { readAs } from '../../gateway/client/replies.ts';
import { compose, members, RawJson } from '../../machines/json/raw.ts';
import { pipelineName, rankedName } from '../../machines/ranking/steps.ts';
import { ArtifactView } from '../../machines/schema/views.ts';
import type { Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { integer } from '../cli/flags.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { type Download, planDownloads } from '../jobs/download.ts';
import { allTasks, arrived, fetchDownloads, jobWithRanking } from '../jobs/fetch-downloads.ts';
import { taskFound } from '../jobs/find/find-task.ts';
import { INDEX_FILE, writeIndex } from '../jobs/index-file.ts';
import { taskFolders } from '../jobs/task-folders.ts';
import { bytes, counted } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';
import { table } from '../terminal/table.ts';

export class ArtifactsCommand extends JobCommand {
  static override paths = [['artifacts']];
  static override usage = jobUsage('artifacts', {
    details: `
      With \`--out\` the artifacts are downloaded into that directory, those of a task into a folder of its place
      in the job and its pipeline, such as \`03-snv-pls\`; \`index.csv\` says what is what. Every file is verified by its SHA-256 and appears only when it is complete; nothing is written outside
      the directory, whatever the names of the artifacts are. Files of the same name are replaced.
    `,
    examples: [
      ['List them', 'jqctl artifacts job_01k9'],
      ['Fetch the model of one task', 'jqctl artifacts job_01k9 --task 7fq1bvvs --role model --out results'],
      ['Fetch all that the best five left', 'jqctl artifacts job_01k9 --top 5 --out results'],
      ['Fetch the best model', 'jqctl artifacts job_01k9 --out results --role best_model'],
    ],
  });

  out = Option.String('--out', value('DIR', 'download into this directory'));
  role = Option.String(
    '--role',
    value('ROLE', 'only artifacts of this role, such as best_model, model, logs, workspace'),
  );
  task = Option.String(
    '--task',
    value('TASK', 'only artifacts of this task, by its id, a part of it or its label'),
  );

  top = Option.String('--top', value('N', 'only artifacts of the best so many tasks'));

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    if (this.out === '') throw usageError('--out: the directory has no name');
    if (this.top !== undefined && this.task !== undefined)
      throw usageError('--top and --task are two: take one');
    const limit = this.top === undefined ? undefined : integer('--top', this.top, { min: 1, max: 1000 });
    const jobId = await this.jobId(session);
    const found = this.task === undefined ? null : await taskFound(client, jobId, this.task);
    const task_id = found?.id;
    const best = limit === undefined ? null : await bestTasks(client, jobId, limit);
    const tasks = best === null ? [task_id] : [...best.keys()];
    const listed = (await Promise.all(tasks.map((of) => this.#listed(client, jobId, of)))).flat();
    const texts = listed.map(({ text }) => text);
    const artifacts = listed.map(({ artifact }) => artifact);
    if (artifacts.length === 0) {
      const which = this.role === undefined ? '' : ` of role ${plain(this.role)}`;
      output.note(`${plain(task_id ?? jobId)} has no artifacts${which}`);
    }
    if (this.out !== undefined) return this.#download(session, jobId, texts, artifacts);
    if (output.json) await output.print(`[${texts.join(',')}]`);
    else if (artifacts.length > 0)
      await output.print(listOf(artifacts, best ?? (await namesOf(client, jobId, found)), output));
    return EXIT.done;
  }

  /** Of a task, or of the whole job. */
  async #listed(client: Session['client'], id: string, task_id: string | undefined) {
    const query = task_id === undefined ? {} : { task_id };
    return (await client.callList('listJobArtifacts', { params: { id }, query }))
      .map((text) => ({ text, artifact: readAs(ArtifactView, text, 'an artifact of the list') }))
      .filter(
        ({ artifact: { role, task_id: of } }) => (this.role ?? role) === role && (task_id ?? of) === of,
      );
  }

  async #download(session: Session, jobId: string, texts: string[], artifacts: ArtifactView[]) {
    const { client, output } = session;
    const directory = this.out ?? '';
    const [job, tasks] = await Promise.all([jobWithRanking(client, jobId), allTasks(client, jobId)]);
    const downloads = planDownloads(artifacts, taskFolders(tasks), [INDEX_FILE]);
    await fetchDownloads(session, directory, downloads);
    const files = arrived(downloads);
    if (job !== null && files.length > 0) await writeIndex(directory, files, { job, tasks });
    if (output.json) await output.print(documentOf(texts, downloads));
    return this.#conclude(session, directory, downloads);
  }

  /** Says what arrived and what did not; the first fault gives the exit code. */
  async #conclude({ output }: Session, directory: string, downloads: Download[]): Promise<number> {
    const { green, red, dim } = output.colours;
    for (const { path, artifact, fault } of output.json ? [] : downloads) {
      if (fault === undefined)
        await output.print(`${green('saved')} ${plain(path)} ${dim(bytes(artifact.size_bytes))}`);
    }
    const faults = downloads.flatMap((download) => (download.fault ? [download] : []));
    for (const { path, artifact, fault } of faults) {
      output.note(`${red('failed')} ${plain(path)} (${plain(artifact.id)}): ${plain(fault?.message)}`);
    }
    const saved = downloads.length - faults.length;
    if (downloads.length > 0) output.note(`${counted(saved, 'file')} in ${plain(directory)}`);
    const hint = faults[0]?.fault?.hint;
    if (hint !== undefined) output.note(output.noteColours.dim(plain(hint)));
    return faults[0]?.fault?.exit ?? EXIT.done;
  }
}

/** The entries as the server wrote them, each with where it lies now: `path` below the directory, or null. */
function documentOf(texts: string[], downloads: Download[]): string {
  const entries = texts.map((text, i) => {
    const parts = [...members(text)].map(([key, value]) => [key, new RawJson(value)] as const);
    const { path, fault } = downloads[i] as Download;
    return { ...Object.fromEntries(parts), path: fault === undefined ? path : null };
  });
  return compose(entries);
}

/** What tasks are called: where one was named, nobody else has to be asked for. */
async function namesOf(
  client: Session['client'],
  jobId: string,
  found: { id: string; name: string | null } | null,
): Promise<Map<string, string>> {
  if (found?.name) return new Map([[found.id, found.name]]);
  const tasks = await allTasks(client, jobId);
  return new Map(tasks.map((task) => [task.id, `${pipelineName(task)} on ${task.dataset_label}`]));
}

/** The best tasks of a job by their ids, the best first, and what they are called. */
async function bestTasks(client: Session['client'], id: string, limit: number): Promise<Map<string, string>> {
  const entries = await client.call('getJobRanking', { params: { id }, query: { limit } });
  return new Map(entries.map((entry) => [entry.task_id, rankedName(entry)]));
}

function listOf(
  artifacts: ArtifactView[],
  names: ReadonlyMap<string, string>,
  output: Session['output'],
): string {
  const rows = artifacts.map(({ role, filename, size_bytes, id: artifactId, task_id }) => {
    return [
      plain(role),
      plain(filename ?? '-'),
      bytes(size_bytes),
      plain(artifactId),
      plain((task_id === null ? undefined : names.get(task_id)) ?? '-'),
      plain(task_id ?? '-'),
    ];
  });
  const columns = [
    { title: 'role', flexible: true },
    { title: 'file', flexible: true },
    { title: 'size', align: 'right' as const },
    { title: 'artifact', ids: true },
    { title: 'of', flexible: true },
    { title: 'task', ids: true, flexible: true },
  ];
  return table(columns, rows, output);
}
