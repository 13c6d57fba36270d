import type { Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage } from '../cli/usage.ts';
import { printJob } from '../jobs/print-job.ts';

export class StatusCommand extends JobCommand {
  static override paths = [['status']];
  static override usage = jobUsage('status', {
    details: `
      Shows how the job stands, the ranking of its tasks by the rank metric, the tasks that failed with their
      reasons, and what keeps queued tasks from running. The exit code is 0 whatever the status of the job.

      \`--json\` prints the job with the member \`tasks\`.
    `,
    examples: [['Show a job', 'jqctl status job_01k9']],
  });

  protected async act(session: Session): Promise<number> {
    await printJob(session, await this.jobId(session));
    return EXIT.done;
  }
}
