import { replyOf } from '../../gateway/client/replies.ts';
import type { Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage } from '../cli/usage.ts';
import { plain } from '../terminal/plain.ts';
import { styled } from '../terminal/status-style.ts';

export class CancelCommand extends JobCommand {
  static override paths = [['cancel']];
  static override usage = jobUsage('cancel', {
    details: `
      Queued tasks are cancelled at once, running ones are told to stop; until they have, the job is
      \`cancelling\`. Cancelling a job that has ended changes nothing.
    `,
    examples: [['Cancel a job', 'jqctl cancel job_01k9']],
  });

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    const params = { id: await this.jobId(session) };
    const answer = await client.callText('cancelJob', { params });
    const job = replyOf('cancelJob', answer);
    await output.print(output.json ? answer : `${plain(job.id)} is ${styled(job.status, output.colours)}`);
    return EXIT.done;
  }
}
