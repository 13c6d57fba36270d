import type { ClusterClient } from '../../gateway/client/client.ts';
import { readAs } from '../../gateway/client/replies.ts';
import { type JobView, TaskView } from '../../machines/schema/views.ts';
import type { Session } from '../cli/client-command.ts';
import { withDeadline } from '../cli/deadline.ts';
import { bytes } from '../terminal/format.ts';
import { Progress } from '../terminal/progress.ts';
import { ifUnsupported } from './cluster-snapshot.ts';
import { type Download, downloadAll } from './download.ts';
import { taskPages } from './follow/task-pages.ts';
import type { Indexed } from './index-file.ts';

/** Downloads with a bar of the bytes that came; what failed is noted on each. */
export async function fetchDownloads(
  { client, output }: Session,
  directory: string,
  downloads: Download[],
): Promise<void> {
  const total = downloads.reduce((sum, { artifact }) => sum + artifact.size_bytes, 0);
  const progress = new Progress(output, total, '');
  let got = 0;
  const onBytes = (count: number) => {
    got += count;
    progress.update(got, `${bytes(got)} of ${bytes(total)}`);
  };
  try {
    await withDeadline(undefined, ({ signal }) =>
      downloadAll({ client, directory, downloads, signal, onBytes }),
    );
  } finally {
    progress.stop();
  }
}

/** Those that arrived, as an index lists them. */
export const arrived = (downloads: readonly Download[]): Indexed[] =>
  downloads
    .filter(({ fault }) => fault === undefined)
    .map(({ path, artifact: { role, task_id, id, size_bytes, sha256 } }) => ({
      path: path.replaceAll('\\', '/'),
      ...{ what: role, task_id, artifact_id: id, bytes: size_bytes, sha256 },
    }));

/** All tasks of a job in their order; none of a server that does not list them. */
export async function allTasks(client: ClusterClient, jobId: string): Promise<TaskView[]> {
  const tasks: TaskView[] = [];
  try {
    for await (const page of taskPages(client, jobId)) {
      for (const text of page) tasks.push(readAs(TaskView, text, 'a task of the list'));
    }
  } catch (error) {
    return ifUnsupported<TaskView[]>([])(error);
  }
  return tasks;
}

/** The job with its ranking; null of a server that does not tell. */
export const jobWithRanking = (client: ClusterClient, id: string): Promise<JobView | null> =>
  client.call('getJob', { params: { id } }).catch(ifUnsupported<JobView | null>(null));
