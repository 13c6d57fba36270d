import { Option } from 'clipanion';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { filenameOf } from '../../gateway/client/filename.ts';
import { compose } from '../../machines/json/raw.ts';
import {
  bestOfJob,
  type ComparedJob,
  chooseMetric,
  commonMetrics,
  comparedJob,
  sideBySide,
} from '../../machines/results/compare.ts';
import { artifactsIn, type Content, differencesOf } from '../../machines/results/spec-diff.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { word } from '../cli/flags.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { findJob } from '../jobs/find/find-job.ts';
import { compareReport } from '../terminal/compare-report.ts';

/** Jobs that can be told apart side by side. */
const MOST = 10;
/** Succeeded tasks whose versions are looked at, and artifacts whose contents are. */
const LOOKED_AT = { tasks: 100, artifacts: 200 };

export class CompareCommand extends ClientCommand {
  static override paths = [['compare']];
  static override usage = jobUsage('compare', {
    details: `
      Shows the best of each job in the order of their submission, their rankings side by side by one metric, what is
      called the same in one row, and what differs in pipelines, data, parameters and the versions of the library,
      as it was written. The metric is the one by which the first job ranks, or another one that all report. Where that
      is an error of cross-validation in one job and of test samples in another, it is \`cv_rmse\` and the like, and a
      warning says so.
    `,
    examples: [
      ["This week's and last week's", 'jqctl compare corn-42 corn-41'],
      ['By another metric', 'jqctl compare job_01k9 job_01k8 --metric best_r2'],
    ],
  });

  jobs = Option.Rest({ name: 'job', required: 1 });
  metric = Option.String('--metric', value('METRIC', 'compare by this metric'));

  protected async act({ client, output }: Session): Promise<number> {
    if (this.jobs.length < 2 || this.jobs.length > MOST) throw usageError(`name 2 to ${MOST} jobs`);
    const ids: string[] = [];
    for (const text of this.jobs) ids.push(await findJob(client, text.trim()));
    if (new Set(ids).size < ids.length) throw usageError('a job is named twice');
    const jobs = await Promise.all(ids.map((id) => compared(client, id)));
    const metrics = commonMetrics(jobs);
    const wanted = this.metric === undefined ? undefined : word('--metric', this.metric, metrics);
    const choice = chooseMetric(jobs, metrics, wanted);
    const { metric } = choice;
    const rows = metric === undefined ? [] : sideBySide(jobs, metric);
    const differences = differencesOf(jobs, await contentsOf(client, jobs));
    if (!output.json) {
      await output.print(compareReport({ jobs, choice, rows, differences }, output));
      return EXIT.done;
    }
    const of = jobs.map((one, place) => ({
      ...{ id: one.job.id, name: one.job.name, created_at: one.job.created_at, versions: [...one.versions] },
      best: bestOfJob(one, choice),
      measured_on: choice.measured[place],
    }));
    await output.print(
      compose({
        metric: metric ?? null,
        mode: choice.mode,
        warning: choice.warning,
        jobs: of,
        rows,
        differences,
      }),
    );
    return EXIT.done;
  }
}

async function compared(client: ClusterClient, id: string): Promise<ComparedJob> {
  const params = { id };
  const query = { status: 'succeeded' as const, limit: LOOKED_AT.tasks };
  const [job, request, tasks] = await Promise.all([
    client.call('getJob', { params }),
    client.callText('getJobRequest', { params }),
    client.call('listJobTasks', { params, query }),
  ]);
  return comparedJob(job, request, tasks);
}

/** What the files are that the jobs name; what cannot be told is told apart by its id. */
async function contentsOf(
  client: ClusterClient,
  jobs: readonly ComparedJob[],
): Promise<Map<string, Content>> {
  const ids = [...new Set(jobs.flatMap(({ request }) => artifactsIn(request)))].slice(0, LOOKED_AT.artifacts);
  const found = await Promise.all(
    ids.map(async (id): Promise<[string, Content][]> => {
      const headers = await client.artifactHeaders(id).catch(() => null);
      const etag = headers?.etag?.replaceAll('"', '');
      const filename = filenameOf(headers?.['content-disposition'] ?? null);
      return etag ? [[id, { sha256: etag, filename }]] : [];
    }),
  );
  return new Map(found.flat());
}
