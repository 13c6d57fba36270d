import { Option } from 'clipanion';
import type { Session } from '../cli/client-command.ts';
import { allowFailedFlag, timeoutOf } from '../cli/flags.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { watchJob } from '../jobs/follow/watch.ts';

export class WaitCommand extends JobCommand {
  static override paths = [['wait']];
  static override usage = jobUsage('wait', {
    details: `
      Ends when the job has succeeded, failed or been cancelled, and tells by its exit code. A lost connection
      is taken up again for about a minute. Ctrl-C leaves the job running.
    `,
    examples: [['Wait for at most an hour', 'jqctl wait job_01k9 --timeout 3600']],
  });

  timeout = Option.String('--timeout', value('SECONDS', 'give up after so many seconds'));

  allowFailed = allowFailedFlag();

  protected async act(session: Session): Promise<number> {
    const seconds = timeoutOf(this.timeout);
    const job = await session.client.call('getJob', { params: { id: await this.jobId(session) } });
    return watchJob(session, job, { seconds, allowFailed: this.allowFailed });
  }
}
