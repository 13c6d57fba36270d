import { Option } from 'clipanion';
import { printJob } from '../client/job-document.ts';
import { ClientCommand, type Session } from '../support/client-command.ts';
import { EXIT } from '../support/exit.ts';
import { id } from '../support/flags.ts';
import { clientUsage } from '../support/usage.ts';

export class StatusCommand extends ClientCommand {
  static override paths = [['status']];
  static override usage = clientUsage({
    category: 'Jobs',
    description: 'show a job: tasks, ranking, errors, and why tasks wait',
    details: `
      Shows how the job stands, the ranking of its tasks by the rank metric, the tasks that failed with their
      reasons, and what keeps queued tasks from running. The exit code is 0 whatever the status of the job.

      \`--json\` prints the job with the member \`tasks\`.
    `,
    examples: [['Show a job', 'jqctl status job_01k9']],
  });

  job = Option.String({ name: 'job id' });

  protected async act(session: Session): Promise<number> {
    await printJob(session, id('job', this.job));
    return EXIT.done;
  }
}
