import { Option } from 'clipanion';
import type { Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { tellTasks } from '../jobs/tell-tasks.ts';

export class RequeueCommand extends JobCommand {
  static override paths = [['requeue']];
  static override usage = jobUsage('requeue', {
    details: `
      A task that hangs, or runs where it should not, is taken from its worker, which is told to stop it, and queued
      again in its old place. That costs it no attempt. A task that waits or has ended is refused; what failed is
      queued again with \`jqctl retry\`.
    `,
    examples: [['Of a job, one task that hangs', 'jqctl requeue job_01k9 --task task_01ka']],
  });

  tasks = Option.Array(
    '--task',
    [],
    value('TASK', 'the task, by its id, a part of it or its label; repeatable'),
  );

  protected async act(session: Session): Promise<number> {
    const id = await this.jobId(session);
    if (this.tasks.length === 0) throw usageError('--task: name the tasks that are to be queued again');
    await tellTasks(session, 'requeueTask', id, this.tasks);
    return EXIT.done;
  }
}
