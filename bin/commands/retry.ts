import type { JobView } from '../../machines/schema/views.ts';
import type { Session } from '../support/client-command.ts';
import { EXIT } from '../support/exit.ts';
import { JobCommand } from '../support/job-command.ts';
import { jobUsage } from '../support/usage.ts';
import { plain } from '../terminal/plain.ts';
import { styled } from '../terminal/status-style.ts';

export class RetryCommand extends JobCommand {
  static override paths = [['retry']];
  static override usage = jobUsage({
    category: 'Jobs',
    description: 'queue the failed tasks of a failed job again',
    details: 'Only a job that failed can be retried; its failed tasks get as many attempts as before.',
    examples: [['Try a failed job again and wait for it', 'jqctl retry job_01k9 && jqctl wait job_01k9']],
  });

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    const params = { id: await this.jobId(session) };
    const answer = await client.callText('retryJob', { params });
    const job = JSON.parse(answer) as JobView;
    await output.print(
      output.json ? answer : `${plain(job.id)} is ${styled(job.status, output.colours)} again`,
    );
    return EXIT.done;
  }
}
