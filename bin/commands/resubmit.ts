import { Option } from 'clipanion';
import { at } from '../../machines/json/raw.ts';
import { MissingRightsError, missingRights, type Right } from '../../machines/protocol/rights.ts';
import { hasEnded } from '../../machines/schema/statuses.ts';
import type { TaskView } from '../../machines/schema/views.ts';
import { asNow, withoutKey } from '../../machines/submission/resubmitted.ts';
import type { Session } from '../cli/client-command.ts';
import { CliError, EXIT, usageError } from '../cli/exit.ts';
import { word } from '../cli/flags.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { sending } from '../cli/waiting-command.ts';
import { taskPages } from '../jobs/follow/task-pages.ts';
import { editedJob } from '../jobs/submit/edit-job.ts';
import { jobFromText } from '../jobs/submit/job-file.ts';
import { ONLY, type Only, STATUSES_OF, specsOf } from '../jobs/submit/resubmission.ts';
import { sendJob, sendJobs } from '../jobs/submit/send-job.ts';
import { counted } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';

export class ResubmitCommand extends sending(JobCommand) {
  static override paths = [['resubmit']];
  static override usage = jobUsage('resubmit', {
    details: `
      Takes the specification as it was submitted, without its idempotency key; name, note and tags are those that the
      job has now. With \`--only\` the new job has
      those tasks alone that failed, were cancelled, or have not succeeded (\`unfinished\`); where they are not
      every pipeline on every dataset, there is a new job for each set of datasets. With \`--upload\`, paths that
      exist on this machine are uploaded, as by \`jqctl submit\`; what was uploaded before is used again.

      With \`--edit\` the specification is opened as YAML in the editor of \`VISUAL\`, else \`EDITOR\`, and checked as the server
      will when that is closed; where something is wrong with it, nothing is submitted and the file is kept.

      The old job stays as it is, and the new one says which it came from. To go on with it, use \`jqctl retry\`.
    `,
    examples: [
      ['Once more, all of it', 'jqctl resubmit job_01k9 --wait'],
      ['The same with other parameters', 'jqctl resubmit job_01k9 --edit'],
      ['What a cancelled job did not come to', 'jqctl resubmit job_01k9 --only unfinished'],
    ],
  });

  only = Option.String('--only', value('TASKS', `only tasks that are ${ONLY.join(', ')}`));

  edit = Option.Boolean('--edit', false, { description: 'change the specification in your editor first' });

  protected async act(session: Session): Promise<number> {
    const options = this.sendOptions();
    if (this.edit && this.only !== undefined) throw usageError('--edit and --only are two: take one');
    // Nobody edits what would not be taken from them.
    if (this.edit) await assertMaySubmit(session);
    const only = this.only === undefined ? undefined : word('--only', this.only, ONLY);
    const jobId = await this.jobId(session);
    const request = await session.client.callText('getJobRequest', { params: { id: jobId } });
    const texts =
      only === undefined ? [withoutKey(request)] : await this.#rest(session, jobId, request, only);
    if (texts.length > 1) {
      session.output.note(`the tasks are no full matrix: ${counted(texts.length, 'job')}, by their datasets`);
    }
    const what = `the specification of ${plain(jobId)}`;
    const job = await session.client.call('getJob', { params: { id: jobId } });
    const linked = texts.map((text) => asNow(text, job));
    const files = linked.map((text) => jobFromText(text, what));
    if (!this.edit) return sendJobs(session, files, options);
    const edited = await editedJob(session, this.context, linked[0] as string, what);
    if (edited === null) return EXIT.done;
    return sendJob(session, edited, options);
  }

  async #rest({ client }: Session, jobId: string, request: string, only: Only): Promise<string[]> {
    const job = await client.call('getJob', { params: { id: jobId } });
    if (only === 'unfinished' && !hasEnded(job.status)) {
      throw usageError(
        `${jobId} is ${job.status}: what is unfinished may still finish`,
        `wait for it with jqctl wait ${jobId}, or cancel it first`,
      );
    }
    if ((at(request, 'decompose') ?? 'null') !== 'null') {
      throw usageError(
        `the tasks of ${jobId} are variants that its library found in one pipeline, which can be submitted only whole`,
        `try what failed once more with jqctl retry ${jobId}, or resubmit all of it`,
      );
    }
    const meant: boolean[] = [];
    for await (const page of taskPages(client, jobId)) {
      for (const text of page) {
        const { role, status } = JSON.parse(text) as TaskView;
        // What refits a variant follows from it.
        if (role !== 'refit') meant.push(STATUSES_OF[only].includes(status));
      }
    }
    const texts = specsOf(request, (place) => meant[place] === true);
    if (texts.length === 0) {
      const none = only === 'unfinished' ? 'every task succeeded' : `no task of it is ${only}`;
      throw usageError(`nothing of ${jobId} is left to submit: ${none}`);
    }
    return texts;
  }
}

async function assertMaySubmit({ client }: Session): Promise<void> {
  const { principal, rights } = await client.call('getMe');
  if (missingRights({ name: principal, rights: rights as Right[] }, ['submit']).length > 0)
    throw new CliError(EXIT.unauthorised, new MissingRightsError(principal, ['submit']).message, {
      hint: 'use a credential that may submit, with --token or JQ_TOKEN',
    });
}
