import type { ClusterClient } from '../../../gateway/client/client.ts';
import { referredTo } from '../../../machines/protocol/reference.ts';
import type { TaskView } from '../../../machines/schema/views.ts';
import { usageError } from '../../cli/exit.ts';
import { taskLabels } from '../follow/task-board.ts';
import { uniqueMatch } from './find-job.ts';

/** A whole id, for which the server need not be asked. */
const WHOLE_ID = /^task_[0-9a-z]{26}$/;

/**
 * The id of the task that a person named: by its id, the beginning or the end of it, or its label.
 * @param tasks of the job
 * @throws CliError where it names none, or several
 */
export function taskNamed(text: string, tasks: readonly TaskView[], jobId: string): string {
  const labels = taskLabels(tasks);
  const named = tasks.map((task) => ({ ...task, name: labels.get(task.id) ?? null }));
  const found = uniqueMatch(text, 'task', referredTo(text, named), ({ status }) => status);
  if (found !== undefined) return found.id;
  throw usageError(`${jobId} has no task '${text}'`, `see them with: jqctl status ${jobId}`);
}

/** The same of several; the tasks of the job are asked for only where they have to be. */
export async function tasksNamed(
  client: ClusterClient,
  jobId: string,
  texts: readonly string[],
): Promise<string[]> {
  if (texts.every((text) => WHOLE_ID.test(text))) return [...texts];
  const tasks = await client.call('listJobTasks', { params: { id: jobId } });
  return texts.map((text) => taskNamed(text, tasks, jobId));
}
