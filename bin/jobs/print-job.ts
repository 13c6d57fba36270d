import { replyOf } from '../../gateway/client/replies.ts';
import { compose, members, RawJson } from '../../machines/json/raw.ts';
import type { Session } from '../cli/client-command.ts';
import { jobReport } from '../terminal/job-report.ts';
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
  const odd = await mismatches(client, job, tasks.first);
  await output.print(jobReport({ job, tasks, workersAlive, mismatches: odd }, output));
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
