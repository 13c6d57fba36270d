import { Option } from 'clipanion';
import type { EventFrame } from '../../gateway/client/event-stream.ts';
import { compact } from '../../machines/json/raw.ts';
import type { Session } from '../cli/client-command.ts';
import { withDeadline } from '../cli/deadline.ts';
import { EXIT } from '../cli/exit.ts';
import { integer } from '../cli/flags.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { taskNamed } from '../jobs/find/find-task.ts';
import { followJob, history } from '../jobs/follow/follow.ts';
import { taskLabels } from '../jobs/follow/task-board.ts';
import { TASK_PAGE } from '../jobs/follow/task-pages.ts';
import { eventLines } from '../terminal/event-line.ts';
import { duration } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';

export class LogsCommand extends JobCommand {
  static override paths = [['logs']];
  static override usage = jobUsage('logs', {
    details: `
      Prints the output of the runs and, between them, what happened to the job and its tasks. With \`--follow\`
      it goes on until the job has ended; a lost connection is taken up again, with no line missed or doubled,
      for about a minute. The exit code is 0 whatever the end of the job.

      How far a task was, as its run told it, is left out but for \`--progress\`. \`--json\` prints one event a line, all of
      them.
    `,
    examples: [
      ['Follow a job', 'jqctl logs job_01k9 --follow'],
      ['Only what one task printed', 'jqctl logs job_01k9 --task task_01k9'],
    ],
  });

  follow = Option.Boolean('-f,--follow', false, { description: 'go on until the job has ended' });
  task = Option.String(
    '--task',
    value('TASK', 'only events of this task, by its id, a part of it or its label'),
  );
  progress = Option.Boolean('--progress', false, { description: 'also how far the tasks were' });
  afterId = Option.String('--after-id', value('N', 'only events after the one with this number'));

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    const jobId = await this.jobId(session);
    const afterId = this.afterId === undefined ? 0 : integer('--after-id', this.afterId);
    // All of them only where one is looked for; of very many, lines bear ids in the place of names.
    const query = this.task === undefined ? { limit: TASK_PAGE + 1 } : {};
    const tasks = await session.client.call('listJobTasks', { params: { id: jobId }, query });
    const task = this.task === undefined ? undefined : taskNamed(this.task, tasks, jobId);
    // The names of the tasks, for people, where there are several.
    const named = !output.json && task === undefined && tasks.length > 1;
    const labels = named && tasks.length <= TASK_PAGE ? taskLabels(tasks) : new Map<string, string>();
    const nameOf = (id: string) => (named ? (labels.get(id) ?? id) : undefined);
    const print = async (frame: EventFrame) => {
      const isMeant = task === undefined || isOf(task, frame.event);
      if (isMeant && (output.json || this.progress || frame.event.type !== 'progress'))
        await printEvent(session, frame, nameOf);
    };
    if (!this.follow) {
      for await (const frame of history(client, jobId, afterId)) await print(frame);
      return EXIT.done;
    }
    return withDeadline(undefined, async (deadline) => {
      const { signal } = deadline;
      const onRetry = (why: string, s: number) =>
        output.note(output.noteColours.yellow(`${plain(why)}; trying again in ${duration(s)}`));
      try {
        const frames = followJob({ client, jobId, afterId, signal, onRetry });
        for await (const frame of frames) await print(frame);
      } catch (error) {
        if (deadline.exit === undefined) throw error;
      }
      if (deadline.exit !== undefined) output.note(`interrupted; ${plain(jobId)} goes on`);
      return deadline.exit ?? EXIT.done;
    });
  }
}

/** What was deleted of the job may have been of the task. */
const isOf = (task: string, { task_id, type }: EventFrame['event']): boolean =>
  task_id === task || (task_id === null && type === 'gap');

async function printEvent(
  { output }: Session,
  { event, text }: EventFrame,
  nameOf: (taskId: string) => string | undefined,
) {
  if (output.json) return output.print(compact(text));
  const label = event.task_id === null ? undefined : nameOf(event.task_id);
  await output.print(eventLines(event, label, Date.now() / 1000, output.colours).join('\n'));
}
