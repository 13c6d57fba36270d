import { Option } from 'clipanion';
import type { JobChange } from '../../machines/schema/job-change.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { priorityOf } from '../cli/flags.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { findJob } from '../jobs/find/find-job.ts';
import { plain } from '../terminal/plain.ts';

export class SetCommand extends ClientCommand {
  static override paths = [['set']];
  static override usage = jobUsage('set', {
    details: `
      Changes the name, note, tags or priority of jobs. Another priority counts at once for all tasks that wait; those
      that run go on. An empty name or note takes it away. Only who submitted a job may change it, and an admin. How long
      it is kept says \`jqctl keep\`.
    `,
    examples: [
      ['Let a job go before others', 'jqctl set job_01k9 --priority 5'],
      ['Find it again', 'jqctl set job_01k9 --tag corn --tag paper --note "with the new lamp"'],
      ['Take a tag away', 'jqctl set job_01k9 --untag corn'],
    ],
  });

  jobs = Option.Rest({ name: 'job', required: 1 });
  name = Option.String('--name', value('NAME', 'what it is called'));
  note = Option.String('--note', value('TEXT', 'what is to be known of it'));
  tags = Option.Array('--tag', [], value('TAG', 'give it this tag, too; repeatable'));
  untags = Option.Array('--untag', [], value('TAG', 'take this tag from it; repeatable'));
  priority = Option.String('--priority', value('N', 'larger first'));

  protected async act({ client, output }: Session): Promise<number> {
    const change: JobChange = {
      ...(this.name !== undefined && { name: this.name || null }),
      ...(this.note !== undefined && { note: this.note || null }),
      ...(this.priority !== undefined && { priority: priorityOf(this.priority) }),
    };
    const changesTags = this.tags.length + this.untags.length > 0;
    if (Object.keys(change).length === 0 && !changesTags)
      throw usageError('name what is to be changed: --name, --note, --tag, --untag or --priority');
    const jobs = [];
    for (const text of this.jobs) {
      const id = await findJob(client, text.trim());
      const params = { id };
      if (changesTags) {
        const { tags = [] } = await client.call('getJob', { params });
        for (const tag of this.untags.filter((one) => !tags.includes(one)))
          output.warn(`${plain(id)} has no tag '${plain(tag)}'`);
        change.tags = this.#changed(tags);
      }
      const job = await client.call('changeJob', { params, body: change });
      jobs.push(job);
      if (!output.json) await output.print(`${plain(id)} is changed`);
    }
    if (output.json) await output.print(JSON.stringify(jobs));
    return EXIT.done;
  }

  #changed(tags: readonly string[]): string[] {
    return [...new Set([...tags, ...this.tags])].filter((tag) => !this.untags.includes(tag));
  }
}
