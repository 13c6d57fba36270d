import { Option } from 'clipanion';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { priorityOf, reuseFlag, reuseOf, tagFlag } from '../cli/flags.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { sending } from '../cli/waiting-command.ts';
import { readJobFile } from '../jobs/submit/job-file.ts';
import { sendJob } from '../jobs/submit/send-job.ts';

export class SubmitCommand extends sending(ClientCommand) {
  static override paths = [['submit']];
  static override usage = clientUsage('submit', {
    details: `
      Checks a job specification in YAML or JSON (\`-\` reads stdin) and sends it, with all numbers as they are
      written. Paths in it are those of the workers; they need not exist on this machine.

      With \`--upload\`, pipeline files and dataset folders that exist on this machine are uploaded (folders as
      zips, equal content once) and named as artifacts instead, so that no disk has to be shared. What is not
      here is left as the workers' path, and told. A path that begins with \`file:\` is uploaded in any case,
      and so is an \`artifact_id\` or \`bundle_artifact_id\` that does (a bundle is a zip, or a folder).
      Relative paths count from the current directory, or else from the folder of the job file, or else from where
      a folder lies that both are in and that the path begins with.

      Prints the id of the job. With \`--wait\` it shows the tasks as they move and ends when the job has ended,
      whatever the end; Ctrl-C leaves the job running.
    `,
    examples: [
      ['Submit a job and keep its id', 'JOB=$(jqctl submit examples/gasoline-matrix.yaml)'],
      ['Submit, watch and print the ranking', 'jqctl submit examples/gasoline-matrix.yaml --wait'],
    ],
  });

  file = Option.String({ name: 'job file' });
  name = Option.String('--name', value('NAME', 'name of the job, above the one in the file'));
  priority = Option.String('--priority', value('N', 'priority, above the one in the file; larger first'));
  note = Option.String('--note', value('TEXT', 'what is to be known of it, above what the file says'));
  tags = tagFlag();
  key = Option.String(
    '--idempotency-key',
    value('KEY', 'submitting again under the same key answers with the same job'),
  );

  reuse = reuseFlag();

  protected async act(session: Session): Promise<number> {
    const options = this.sendOptions();
    const overrides = {
      name: this.name,
      note: this.note,
      tags: this.tags.length > 0 ? this.tags : undefined,
      priority: this.priority === undefined ? undefined : priorityOf(this.priority),
      idempotency_key: this.key,
      reuse: reuseOf(this.reuse),
    };
    const file = await readJobFile(this.file, this.context.stdin, overrides);
    return sendJob(session, file, options);
  }
}
