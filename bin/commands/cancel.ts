import { Option } from 'clipanion';
import type { JobView } from '../../machines/schema/views.ts';
import { ClientCommand, type Session } from '../support/client-command.ts';
import { EXIT } from '../support/exit.ts';
import { id } from '../support/flags.ts';
import { clientUsage } from '../support/usage.ts';
import { plain } from '../terminal/plain.ts';
import { styled } from '../terminal/status-style.ts';

export class CancelCommand extends ClientCommand {
  static override paths = [['cancel']];
  static override usage = clientUsage({
    category: 'Jobs',
    description: 'cancel a job',
    details: `
      Queued tasks are cancelled at once, running ones are told to stop; until they have, the job is
      \`cancelling\`. Cancelling a job that has ended changes nothing.
    `,
    examples: [['Cancel a job', 'jqctl cancel job_01k9']],
  });

  job = Option.String({ name: 'job id' });

  protected async act({ client, output }: Session): Promise<number> {
    const params = { id: id('job', this.job) };
    const answer = await client.callText('cancelJob', { params });
    const job = JSON.parse(answer) as JobView;
    await output.print(output.json ? answer : `${plain(job.id)} is ${styled(job.status, output.colours)}`);
    return EXIT.done;
  }
}
