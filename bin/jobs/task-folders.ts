import { pipelineName } from '../../machines/ranking/steps.ts';
import type { TaskView } from '../../machines/schema/views.ts';
import { safeFileName } from './filenames.ts';

/** Characters that a name may have of a pipeline, and of a dataset. */
const LONGEST = 40;

/**
 * A folder for each task that a person recognises, such as `03-snv-pls`: its place in the job, which stays the same
 * whatever the results are, its pipeline, and where the job has several datasets, the dataset.
 * @param tasks all of the job, in their order
 */
export function taskFolders(
  tasks: readonly Pick<TaskView, 'id' | 'pipeline_label' | 'pipeline_steps' | 'dataset_label' | 'role'>[],
): Map<string, string> {
  const digits = Math.max(2, String(tasks.length).length);
  const several = new Set(tasks.map(({ dataset_label }) => dataset_label)).size > 1;
  return new Map(
    tasks.map((task, i) => {
      const names = [pipelineName(task), ...(several ? [task.dataset_label] : [])].map(shortName);
      const parts = [String(i + 1).padStart(digits, '0'), ...names.filter((name) => name !== '')];
      return [task.id, safeFileName(parts.join('-'), task.id)];
    }),
  );
}

/** Letters and digits, with one hyphen in the place of whatever is between them. */
export function shortName(text: string): string {
  const words = text.normalize('NFC').replaceAll(/[^\p{L}\p{N}.]+/gu, '-');
  return [...words]
    .slice(0, LONGEST)
    .join('')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
}
