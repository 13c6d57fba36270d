import { Option } from 'clipanion';
import { findJob, lastJob } from '../jobs/find/find-job.ts';
import { ClientCommand, type Session } from './client-command.ts';
import { usageError } from './exit.ts';

/** A command about one job: by its id, what is shown of it, its name, or as the last one of who asks. */
export abstract class JobCommand extends ClientCommand {
  job = Option.String({ name: 'job', required: false });
  last = Option.Boolean('--last', false, { description: 'the job that you submitted last' });

  /** The id of the job that the command line names. @throws CliError where it names none, or several */
  protected async jobId({ client }: Session): Promise<string> {
    const text = this.job?.trim();
    if (this.last) {
      if (text !== undefined) throw usageError(`name a job, or --last: '${text}' and --last are two`);
      return lastJob(client);
    }
    if (text === undefined)
      throw usageError('name a job by its id, a part of it or its name, or take --last');
    if (text === '') throw usageError('the job id is empty', 'list the jobs with: jqctl jobs');
    return findJob(client, text);
  }
}
