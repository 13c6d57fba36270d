import { Option } from 'clipanion';
import type { JobView } from '../../machines/schema/views.ts';
import { ClientCommand, type Session } from '../support/client-command.ts';
import { EXIT } from '../support/exit.ts';
import { id } from '../support/flags.ts';
import { clientUsage } from '../support/usage.ts';
import { plain } from '../terminal/plain.ts';
import { styled } from '../terminal/status-style.ts';

export class RetryCommand extends ClientCommand {
  static override paths = [['retry']];
  static override usage = clientUsage({
    category: 'Jobs',
    description: 'queue the failed tasks of a failed job again',
    details: 'Only a job that failed can be retried; its failed tasks get as many attempts as before.',
    examples: [['Try a failed job again and wait for it', 'jqctl retry job_01k9 && jqctl wait job_01k9']],
  });

  job = Option.String({ name: 'job id' });

  protected async act({ client, output }: Session): Promise<number> {
    const params = { id: id('job', this.job) };
    const answer = await client.callText('retryJob', { params });
    const job = JSON.parse(answer) as JobView;
    await output.print(
      output.json ? answer : `${plain(job.id)} is ${styled(job.status, output.colours)} again`,
    );
    return EXIT.done;
  }
}
