import { compose, members, RawJson } from '../../machines/json/raw.ts';
import type { JobView, TaskView } from '../../machines/schema/views.ts';
import type { Session } from '../support/client-command.ts';
import { jobReport } from '../terminal/job-report.ts';
import { mismatches } from './fingerprints.ts';

/**
 * Prints a job with its tasks: the report for people, or one document, the job with the member `tasks`, in
 * which all numbers stand as the server wrote them.
 */
export async function printJob({ client, output }: Session, jobId: string): Promise<void> {
  const params = { id: jobId };
  const [jobText, tasksText] = await Promise.all([
    client.callText('getJob', { params }),
    client.callText('listJobTasks', { params }),
  ]);
  if (output.json) {
    const parts = [...members(jobText)].map(([key, text]) => [key, new RawJson(text)] as const);
    await output.print(compose({ ...Object.fromEntries(parts), tasks: new RawJson(tasksText) }));
    return;
  }
  const tasks = JSON.parse(tasksText) as TaskView[];
  const waits = tasks.some(({ status }) => status === 'queued');
  const alive = waits ? (await client.call('getStats')).workers_alive : 1;
  const job = JSON.parse(jobText) as JobView;
  const odd = await mismatches(client, job, tasks);
  await output.print(jobReport({ job, tasks, workersAlive: alive, mismatches: odd }, output));
}
