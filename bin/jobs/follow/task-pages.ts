import type { ClusterClient } from '../../../gateway/client/client.ts';
import { readAs } from '../../../gateway/client/replies.ts';
import { type JobView, type TaskStatus, TaskView } from '../../../machines/schema/views.ts';

/** Tasks that are asked for at once. */
export const TASK_PAGE = 1_000;

/** All tasks of a job as the server wrote them, so many at a time, in their order. */
export async function* taskPages(client: ClusterClient, jobId: string): AsyncGenerator<string[]> {
  for (let after_id: string | undefined; ; ) {
    const query = { limit: TASK_PAGE, ...(after_id === undefined ? {} : { after_id }) };
    const page = await client.callList('listJobTasks', { params: { id: jobId }, query });
    const last = page.at(-1);
    const lastId = last === undefined ? undefined : readAs(TaskView, last, 'a task of the list').id;
    // A server that does not know pages gives all of them each time.
    if (lastId === after_id && after_id !== undefined) return;
    yield page;
    if (page.length !== TASK_PAGE) return;
    after_id = lastId;
  }
}

/** What a person wants to know of the tasks of a job. */
export interface KnownTasks {
  /** In the order of the job, from its first: all of them, or as many as are asked for at once. */
  first: TaskView[];
  queued: TaskView[];
  failed: TaskView[];
}

/** Of a job of very many tasks only the first are asked for, and the first of those that wait and that failed. */
export async function knownTasks(client: ClusterClient, { id, aggregate }: JobView): Promise<KnownTasks> {
  const ask = (status?: TaskStatus) =>
    client.call('listJobTasks', { params: { id }, query: { limit: TASK_PAGE, ...(status && { status }) } });
  if (aggregate.num_tasks <= TASK_PAGE) {
    const first = await ask();
    const of = (status: TaskStatus) => first.filter((task) => task.status === status);
    return { first, queued: of('queued'), failed: of('failed') };
  }
  const [first, queued, failed] = await Promise.all([
    ask(),
    aggregate.num_queued > 0 ? ask('queued') : [],
    aggregate.num_failed > 0 ? ask('failed') : [],
  ]);
  return { first, queued, failed };
}
