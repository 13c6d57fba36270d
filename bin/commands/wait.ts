import { Option } from 'clipanion';
import { watchJob } from '../client/watch.ts';
import { ClientCommand, type Session } from '../support/client-command.ts';
import { allowFailedFlag, id, timeoutOf } from '../support/flags.ts';
import { clientUsage, value } from '../support/usage.ts';

export class WaitCommand extends ClientCommand {
  static override paths = [['wait']];
  static override usage = clientUsage({
    category: 'Jobs',
    description: 'wait until a job has ended, and print it',
    details: `
      Ends when the job has succeeded, failed or been cancelled, and tells by its exit code. A lost connection
      is taken up again for about a minute. Ctrl-C leaves the job running.
    `,
    examples: [['Wait for at most an hour', 'jqctl wait job_01k9 --timeout 3600']],
  });

  job = Option.String({ name: 'job id' });
  timeout = Option.String('--timeout', value('SECONDS', 'give up after so many seconds'));

  allowFailed = allowFailedFlag();

  protected async act(session: Session): Promise<number> {
    const seconds = timeoutOf(this.timeout);
    const job = await session.client.call('getJob', { params: { id: id('job', this.job) } });
    return watchJob(session, job, { seconds, allowFailed: this.allowFailed });
  }
}
