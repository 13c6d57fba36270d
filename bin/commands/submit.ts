import { Option } from 'clipanion';
import { UnreachableError } from '../../gateway/client/errors.ts';
import type { JobView } from '../../machines/schema/views.ts';
import { readJobFile } from '../client/job-file.ts';
import { watchJob } from '../client/watch.ts';
import { ClientCommand, type Session } from '../support/client-command.ts';
import { CliFault, EXIT, usageFault } from '../support/exit.ts';
import { integer, timeoutOf } from '../support/flags.ts';
import { clientUsage, value } from '../support/usage.ts';
import { counted } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';

export class SubmitCommand extends ClientCommand {
  static override paths = [['submit']];
  static override usage = clientUsage({
    category: 'Jobs',
    description: 'submit a job',
    details: `
      Checks a job specification in YAML or JSON (\`-\` reads stdin) and sends it, with all numbers as they are
      written. Paths in it are those of the workers; they need not exist on this machine.

      Prints the id of the job. With \`--wait\` it shows the tasks as they move and ends when the job has ended,
      whatever the end; Ctrl-C leaves the job running.
    `,
    examples: [
      ['Submit a job and keep its id', 'JOB=$(jqctl submit examples/gasoline-matrix.yaml)'],
      ['Submit, watch and print the ranking', 'jqctl submit examples/gasoline-matrix.yaml --wait'],
    ],
  });

  file = Option.String({ name: 'job file' });
  wait = Option.Boolean('--wait', false, { description: 'wait until the job has ended' });
  timeout = Option.String(
    '--timeout',
    value('SECONDS', 'with --wait: give up waiting after so many seconds'),
  );
  name = Option.String('--name', value('NAME', 'name of the job, above the one in the file'));
  priority = Option.String('--priority', value('N', 'priority, above the one in the file; larger first'));
  key = Option.String(
    '--idempotency-key',
    value('KEY', 'submitting again under the same key answers with the same job'),
  );

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    if (this.timeout !== undefined && !this.wait) throw usageFault('--timeout needs --wait');
    const seconds = timeoutOf(this.timeout);
    const overrides = {
      name: this.name,
      priority:
        this.priority === undefined
          ? undefined
          : integer('--priority', this.priority, { min: -1e9, max: 1e9 }),
      idempotency_key: this.key,
    };
    const file = await readJobFile(this.file, this.context.stdin, overrides);
    for (const warning of file.warnings) output.warn(plain(warning));
    const answer = await client.callText('submitJob', { text: file.text }).catch((fault: unknown) => {
      throw fault instanceof UnreachableError ? unsure(fault, file.spec.idempotency_key) : fault;
    });
    const job = JSON.parse(answer) as JobView;
    for (const warning of job.warnings) {
      if (!file.warnings.includes(warning)) output.warn(plain(warning));
    }
    const id = plain(job.id);
    output.note(`submitted ${id}, ${counted(job.aggregate.num_tasks, 'task')}`);
    if (this.wait) return watchJob(session, job, seconds);
    if (!output.json) output.note(output.noteColours.dim(`follow it with: jqctl wait ${id}`));
    await output.print(output.json ? answer : id);
    return EXIT.done;
  }
}

/** When the connection broke on the way, nobody here knows whether the job arrived. */
function unsure(fault: UnreachableError, key: string | undefined): UnreachableError | CliFault {
  const { code } = (fault.cause ?? {}) as NodeJS.ErrnoException;
  const refused = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];
  if (code !== undefined && refused.includes(code)) return fault;
  const hint =
    key === undefined
      ? 'the job may have arrived: look with jqctl jobs before you submit it again'
      : 'submit it again: its idempotency key keeps it from being queued twice';
  return new CliFault(EXIT.unreachable, fault.message, { hint });
}
