import type { ClusterClient } from '../../gateway/client/client.ts';
import { type Named, referredTo } from '../../machines/reference.ts';
import type { TaskView } from '../../machines/schema/views.ts';
import { onlyOne } from './find-job.ts';

const WHOLE_ID = /^(supervisor|(job|task|worker)_[0-9a-z]{26})$/;
type Actor = Named & { status: string };

/** Jobs that are looked into for a task. */
const ASKED = 100;

/**
 * The id of the job, the worker or the task in motion that a person named: by its id, the beginning or the end of it, or
 * its name. What fits none is given back as it is, for the server to say so.
 * @throws CliFault with the candidates where it fits several
 */
export async function findActor(client: ClusterClient, text: string): Promise<string> {
  if (WHOLE_ID.test(text)) return text;
  const [jobs, workers] = await Promise.all([
    client.call('listJobs', { query: { ref: text, limit: ASKED } }),
    client.call('listWorkers'),
  ]);
  const named = referredTo<Actor>(text, [...jobs, ...workers]);
  const found = named.length > 0 ? named : referredTo<Actor>(text, await tasksInMotion(client));
  return onlyOne(text, 'actor', found, ({ status }) => status)?.id ?? text;
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
