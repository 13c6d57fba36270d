import { Option } from 'clipanion';
import { replyOf } from '../../gateway/client/replies.ts';
import type { Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { tellTasks } from '../jobs/tell-tasks.ts';
import { plain } from '../terminal/plain.ts';
import { styled } from '../terminal/status-style.ts';

export class CancelCommand extends JobCommand {
  static override paths = [['cancel']];
  static override usage = jobUsage('cancel', {
    details: `
      Queued tasks are cancelled at once, running ones are told to stop; until they have, the job is
      \`cancelling\`. Cancelling a job that has ended changes nothing. With \`--task\` only these tasks are cancelled,
      and the job goes on with the others.
    `,
    examples: [['Cancel a job', 'jqctl cancel job_01k9']],
  });

  tasks = Option.Array(
    '--task',
    [],
    value('TASK', 'only this task, by its id, a part of it or its label; repeatable'),
  );

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    const params = { id: await this.jobId(session) };
    if (this.tasks.length > 0) {
      await tellTasks(session, 'cancelTask', params.id, this.tasks);
      return EXIT.done;
    }
    const answer = await client.callText('cancelJob', { params });
    const job = replyOf('cancelJob', answer);
    await output.print(output.json ? answer : `${plain(job.id)} is ${styled(job.status, output.colours)}`);
    return EXIT.done;
  }
}
