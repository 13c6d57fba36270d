import { type Group, grouped } from '../../machines/ranking/failures.ts';
import { hasEnded } from '../../machines/schema/statuses.ts';
import type { JobView, TaskView } from '../../machines/schema/views.ts';
import { counted, wrap } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';

/** Groups that are shown, and tasks of each that are named. */
const SHOWN = 20;
const NAMED = 5;

/** The tasks that failed by what they say, and apart from them those whose last attempt failed and that go on. */
export function failureReport(
  job: JobView,
  tasks: readonly TaskView[],
  labels: ReadonlyMap<string, string>,
  output: Output,
): string {
  const { red, yellow, dim } = output.colours;
  const { errors, num_failed } = job.aggregate;
  const goesOn = new Map(tasks.filter(isTriedAgain).map((task) => [task.id, task.error as string]));
  const failed = Object.entries(errors).filter(([id]) => !goesOn.has(id));
  const count = Math.max(num_failed, failed.length);
  const parts: string[] = [];
  if (failed.length > 0) {
    const groups = grouped(failed.map(([id, why]) => [why, id] as const));
    parts.push(`${red(`${counted(count, 'task')} failed`)}\n${lines(groups, labels, output)}`);
    if (count > failed.length) parts.push(dim(`  errors of ${failed.length} of them; --json lists more`));
    if (hasEnded(job.status) && job.status !== 'cancelled') {
      parts.push(dim(`try them again: jqctl retry ${plain(job.id)}`));
    }
  }
  if (goesOn.size > 0) {
    const groups = grouped([...goesOn].map(([id, why]) => [why, id] as const));
    const title = `${counted(goesOn.size, 'task')} tried again, after`;
    parts.push(`${parts.length > 0 ? '\n' : ''}${yellow(title)}\n${lines(groups, labels, output)}`);
  }
  return parts.join('\n');
}

/** Its last attempt failed, and that was not the end. */
const isTriedAgain = ({ status, error }: TaskView): boolean => error !== null && !hasEnded(status);

function lines(
  groups: readonly Group<string>[],
  labels: ReadonlyMap<string, string>,
  { colours: { dim }, width }: Output,
): string {
  const paragraphs = groups.slice(0, SHOWN).map(({ text, members }) => {
    const times = members.length === 1 ? '' : `${members.length} × `;
    const named = members
      .slice(0, NAMED)
      .map((id) => `    ${plain(labels.get(id) ?? id)}  ${dim(plain(id))}`);
    const more = members.length > NAMED ? [dim(`    and ${members.length - NAMED} more`)] : [];
    return [wrap(`${times}${plain(text)}`, 2, width ?? Infinity), ...named, ...more].join('\n');
  });
  const more = groups.length - SHOWN;
  return [...paragraphs, ...(more > 0 ? [dim(`  and ${more} more; --json lists all of them`)] : [])].join(
    '\n',
  );
}
