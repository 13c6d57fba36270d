import type { ClusterClient } from '../../../gateway/client/client.ts';
import { readAs } from '../../../gateway/client/replies.ts';
import { type Named, referredTo } from '../../../machines/protocol/reference.ts';
import { TaskView } from '../../../machines/schema/views.ts';
import { taskPages } from '../follow/task-pages.ts';
import { jobsNamed, uniqueMatch } from './find-job.ts';

const WHOLE_ID = /^(supervisor|(job|task|worker)_[0-9a-z]{26})$/;
type Actor = Named & { status: string };

/** Jobs that are looked into for a task, and tasks of theirs. */
const ASKED = 100;
const MOST_TASKS = 20_000;

/**
 * The id of the job, the worker or the task that a person named: by its id, the beginning or the end of it, or its
 * name. Tasks are those in motion, else those of the newest jobs. What fits none is given back as it is, for the server
 * to say so.
 * @throws CliError with the candidates where it fits several
 */
export async function findActor(client: ClusterClient, text: string): Promise<string> {
  if (WHOLE_ID.test(text)) return text;
  const [jobs, workers] = await Promise.all([jobsNamed(client, text), client.call('listWorkers')]);
  let found = referredTo<Actor>(text, [...jobs, ...workers]);
  if (found.length === 0) found = referredTo<Actor>(text, await tasksInMotion(client));
  if (found.length === 0) found = await tasksOfNewestJobs(client, text);
  return uniqueMatch(text, 'actor', found, ({ status }) => status)?.id ?? text;
}

/** Where nothing in motion is meant, it is a task that waits or has ended. */
async function tasksOfNewestJobs(client: ClusterClient, text: string): Promise<Actor[]> {
  const found: Actor[] = [];
  let asked = 0;
  for (const { id } of await client.call('listJobs', { query: { limit: ASKED } })) {
    for await (const page of taskPages(client, id)) {
      found.push(
        ...referredTo<Actor>(
          text,
          page.map((task) => readAs(TaskView, task, 'a task of the list')),
        ),
      );
      asked += page.length;
      if (asked >= MOST_TASKS) return found;
    }
  }
  return found;
}

async function tasksInMotion(client: ClusterClient): Promise<TaskView[]> {
  const running = await client.call('listJobs', { query: { status: 'running', limit: ASKED } });
  const lists: TaskView[] = [];
  for (const { id } of running) {
    for (const status of ['running', 'leased'] as const) {
      lists.push(...(await client.call('listJobTasks', { params: { id }, query: { status } })));
    }
  }
  return lists;
}
