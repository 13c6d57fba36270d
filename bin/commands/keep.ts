import { Option } from 'clipanion';
import { FOREVER, isKeep } from '../../machines/job/keep.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { findJob } from '../jobs/find/find-job.ts';
import { plain } from '../terminal/plain.ts';

export class KeepCommand extends ClientCommand {
  static override paths = [['keep']];
  static override usage = jobUsage('keep', {
    details: `
      Keeps jobs for ever, whatever the server deletes: with their results, artifacts, logs and events. With \`--for\` they
      stay as a whole for so long after their end, and are deleted then. Only who submitted a job may say so, and an admin.
    `,
    examples: [
      ['Keep a job for ever', 'jqctl keep job_01k9'],
      ['Have it deleted a week after its end', 'jqctl keep job_01k9 --for 7d'],
      ['Leave it to the server again', 'jqctl keep job_01k9 --default'],
    ],
  });

  jobs = Option.Rest({ name: 'job', required: 1 });
  for = Option.String('--for', value('TIME', 'so long after its end, such as 7d'));
  default = Option.Boolean('--default', false, { description: 'as long as the server keeps jobs' });

  protected async act({ client, output }: Session): Promise<number> {
    if (this.for !== undefined && this.default) throw usageError('give either --for or --default, not both');
    const keep = this.default ? null : (this.for?.trim() ?? FOREVER);
    if (keep !== null && !isKeep(keep))
      throw usageError(`--for: '${keep}' is no length of time, such as 12h or 7d`);
    const jobs = [];
    for (const text of this.jobs) {
      const id = await findJob(client, text.trim());
      jobs.push(await client.call('changeJob', { params: { id }, body: { keep } }));
      const how =
        keep === null ? 'as the server is set' : keep === FOREVER ? 'for ever' : `for ${keep} after its end`;
      if (!output.json) await output.print(`${plain(id)} is kept ${how}`);
    }
    if (output.json) await output.print(JSON.stringify(jobs));
    return EXIT.done;
  }
}
