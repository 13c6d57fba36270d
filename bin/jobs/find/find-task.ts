import type { ClusterClient } from '../../../gateway/client/client.ts';
import { referredTo } from '../../../machines/protocol/reference.ts';
import { pipelineName } from '../../../machines/ranking/steps.ts';
import type { TaskView } from '../../../machines/schema/views.ts';
import { usageError } from '../../cli/exit.ts';
import { taskLabels } from '../follow/task-board.ts';
import { uniqueMatch } from './find-job.ts';

/** A whole id, for which the server need not be asked. */
const WHOLE_ID = /^task_[0-9a-z]{26}$/;
/** Tasks that are named where a text fits several. */
const LISTED = 10;

/**
 * The id of the task that a person named: by its id, the beginning or the end of it, its label, its pipeline and its
 * dataset as lists and messages have them, or its pipeline alone.
 * @param tasks of the job
 * @throws CliError where it names none, or several
 */
export function taskNamed(text: string, tasks: readonly TaskView[], jobId: string): string {
  const labels = taskLabels(tasks);
  const named = tasks.map((task) => ({ ...task, name: labels.get(task.id) ?? null }));
  const found = uniqueMatch(text, 'task', referredTo(text, named), ({ status }) => status);
  if (found !== undefined) return found.id;
  const called = calledSo(text, tasks);
  if (called.length > 1) {
    const names = called.slice(0, LISTED).map(({ id }) => labels.get(id) ?? id);
    const more = called.length > LISTED ? ', …' : '';
    throw usageError(
      `'${text}' fits ${called.length} tasks: ${names.join(', ')}${more}`,
      `name one as here, or by its id: jqctl status ${jobId}`,
    );
  }
  if (called[0] !== undefined) return called[0].id;
  throw usageError(`${jobId} has no task '${text}'`, `see them with: jqctl status ${jobId}`);
}

/** Tasks of that pipeline and dataset, or of that pipeline. */
function calledSo(text: string, tasks: readonly TaskView[]): TaskView[] {
  const written = text.trim().toLowerCase();
  const [whole, pipelines] = [[], []] as [TaskView[], TaskView[]];
  for (const task of tasks) {
    const [pipeline, dataset] = [pipelineName(task), task.dataset_label];
    const names = [`${pipeline} on ${dataset}`, `${dataset} · ${pipeline}`];
    if (names.some((name) => name.toLowerCase() === written)) whole.push(task);
    if (pipeline.toLowerCase() === written) pipelines.push(task);
  }
  return whole.length > 0 ? whole : pipelines;
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

/** One task that a person named, and what it is called; null where the tasks of the job had not to be asked for. */
export async function taskFound(
  client: ClusterClient,
  jobId: string,
  text: string,
): Promise<{ id: string; name: string | null }> {
  if (WHOLE_ID.test(text)) return { id: text, name: null };
  const tasks = await client.call('listJobTasks', { params: { id: jobId } });
  const id = taskNamed(text, tasks, jobId);
  const task = tasks.find((one) => one.id === id);
  return { id, name: task ? `${pipelineName(task)} on ${task.dataset_label}` : null };
}
