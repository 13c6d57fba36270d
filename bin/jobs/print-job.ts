import type { ClusterClient } from '../../gateway/client/client.ts';
import { replyOf } from '../../gateway/client/replies.ts';
import { compose, members, RawJson } from '../../machines/json/raw.ts';
import type { JobView } from '../../machines/schema/views.ts';
import type { Session } from '../cli/client-command.ts';
import { jobReport } from '../terminal/job-report.ts';
import { ifUnsupported } from './cluster-snapshot.ts';
import { mismatches } from './follow/fingerprints.ts';
import { knownTasks, taskPages } from './follow/task-pages.ts';

/**
 * Prints a job with its tasks: the report for people, or one document, the job with the member `tasks`, in
 * which all numbers stand as the server wrote them.
 */
export async function printJob(session: Session, jobId: string): Promise<void> {
  const { client, output } = session;
  const jobText = await client.callText('getJob', { params: { id: jobId } });
  if (output.json) {
    await printJson(session, jobId, jobText);
    return;
  }
  const job = replyOf('getJob', jobText);
  const tasks = await knownTasks(client, job);
  const workersAlive = tasks.queued.length > 0 ? (await client.call('getStats')).workers_alive : 1;
  const again = await resubmissions(client, job.id);
  const odd = await mismatches(client, job, tasks.first);
  await output.print(jobReport({ job, tasks, again, workersAlive, mismatches: odd }, output));
}

/** Repeated and changed submissions that are named at most. */
const NAMED = 20;

/** The newest ones of a job. A server that does not know of them lists whatever it has. */
async function resubmissions(client: ClusterClient, id: string): Promise<string[]> {
  const query = { resubmitted_from: id, limit: NAMED };
  const jobs = await client.call('listJobs', { query }).catch(ifUnsupported<JobView[]>([]));
  return jobs.filter(({ resubmitted_from }) => resubmitted_from === id).map((job) => job.id);
}

/** The tasks come page by page: of very many, no more than a page is in memory. */
async function printJson({ client, output }: Session, jobId: string, jobText: string): Promise<void> {
  const parts = [...members(jobText)].map(([key, text]) => [key, new RawJson(text)] as const);
  await output.write(`${compose(Object.fromEntries(parts)).slice(0, -1)},"tasks":[`);
  let before = '';
  for await (const page of taskPages(client, jobId)) {
    if (page.length > 0) await output.write(before + page.join(','));
    before = ',';
  }
  await output.print(']}');
}
