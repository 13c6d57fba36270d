import { Option } from 'clipanion';
import { replyOf } from '../../gateway/client/replies.ts';
import type { Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { waiting } from '../cli/waiting-command.ts';
import { tasksNamed } from '../jobs/find/find-task.ts';
import { watchJob } from '../jobs/follow/watch.ts';
import { counted } from '../terminal/format.ts';
import type { Colours } from '../terminal/output.ts';
import { plain } from '../terminal/plain.ts';
import { styled } from '../terminal/status-style.ts';

export class RetryCommand extends waiting(JobCommand) {
  static override paths = [['retry']];
  static override usage = jobUsage('retry', {
    details: `
      For a job that failed, or succeeded with failed tasks: they get as many attempts as before, and what
      succeeded stays. With \`--task\` only these are queued again. A cancelled job never runs again; submit it
      anew with \`jqctl resubmit\`. With \`--wait\` it shows the tasks as they move, and tells the end by its exit code.
    `,
    examples: [
      ['Try what failed again and wait for it', 'jqctl retry job_01k9 --wait'],
      ['Try two of the failed tasks again', 'jqctl retry job_01k9 --task task_01ka --task task_01kb'],
    ],
  });

  tasks = Option.Array(
    '--task',
    [],
    value('TASK', 'only this failed task, by its id, a part of it or its label; repeatable'),
  );

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    const wait = this.waitOptions();
    const params = { id: await this.jobId(session) };
    const task_ids = await tasksNamed(client, params.id, this.tasks);
    const body = task_ids.length === 0 ? {} : { task_ids };
    const answer = await client.callText('retryJob', { params, body });
    const job = replyOf('retryJob', answer);
    const { num_tasks, num_succeeded, num_failed, num_cancelled } = job.aggregate;
    const again = counted(num_tasks - num_succeeded - num_failed - num_cancelled, 'task');
    const sentence = (colours: Colours) =>
      `${plain(job.id)} is ${styled(job.status, colours)} again, ${again}`;
    if (wait) {
      output.note(sentence(output.noteColours));
      return watchJob(session, job, wait);
    }
    await output.print(output.json ? answer : sentence(output.colours));
    return EXIT.done;
  }
}
