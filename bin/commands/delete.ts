import { Option } from 'clipanion';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import { ENDED_STATUSES, hasEnded, JOB_STATUSES } from '../../machines/schema/statuses.ts';
import type { JobView } from '../../machines/schema/views.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { lasting, word } from '../cli/flags.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { findJob } from '../jobs/find/find-job.ts';
import { counted } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';

/** Jobs that are listed at a time. */
const PAGE = 1000;

export class DeleteCommand extends ClientCommand {
  static override paths = [['delete']];
  static override usage = jobUsage('delete', {
    details: `
      Deletes jobs that have ended, with their tasks, results, artifacts and events; nothing brings them back. Jobs are
      named, or chosen by \`--before\` and \`--status\`: then your own, with \`--all\` everybody's (right admin). What
      runs is cancelled first, with \`jqctl cancel\`. A job that is kept for ever stays, and so does one whose results
      another job has. With \`--dry-run\` it says what would be deleted, and why something would not.
    `,
    examples: [
      ['Delete a job', 'jqctl delete job_01k9'],
      ['See which of your failed jobs would go', 'jqctl delete --status failed --before 30d --dry-run'],
    ],
  });

  jobs = Option.Rest({ name: 'job' });
  before = Option.String('--before', value('TIME', 'those that ended so long ago at least, such as 90d'));
  status = Option.String('--status', value('STATUS', `those in this state: ${ENDED_STATUSES.join(', ')}`));
  all = Option.Boolean('--all', false, { description: 'also the jobs of others' });
  dryRun = Option.Boolean('--dry-run', false, { description: 'only say what would be deleted' });

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    const said: Outcome[] = [];
    let exit: number = EXIT.done;
    for await (const { id, only } of this.#chosen(client)) {
      const { error, outcome } = await this.#deleteOne(client, id, only);
      said.push(outcome);
      if (error?.status === 403) exit = EXIT.unauthorised;
      else if (error && exit === EXIT.done) exit = EXIT.usage;
      if (output.json) continue;
      if (error && this.jobs.length === 1) throw error;
      if ('refused' in outcome) output.note(plain(outcome.refused));
      else await output.print(`${plain(id)} ${this.dryRun ? 'would be deleted' : 'deleted'}`);
    }
    const refused = said.filter((outcome) => 'refused' in outcome);
    if (output.json) await output.print(JSON.stringify(said));
    else if (said.length === 0) output.note('no such jobs');
    else if (said.length > 1) {
      const going = counted(said.length - refused.length, 'job');
      output.note(`${going} ${this.dryRun ? 'would be deleted' : 'deleted'}, ${refused.length} not`);
    }
    return exit;
  }

  async *#chosen(client: ClusterClient): AsyncGenerator<Chosen> {
    if (this.jobs.length > 0) {
      if (this.before !== undefined || this.status !== undefined || this.all)
        throw usageError('name jobs, or choose them by --before, --status and --all, not both');
      for (const text of this.jobs) yield { id: await findJob(client, text.trim()), only: {} };
      return;
    }
    if (this.before === undefined && this.status === undefined)
      throw usageError('name a job by its id, a part of it or its name, or give --before or --status');
    const status = this.status === undefined ? undefined : word('--status', this.status, JOB_STATUSES);
    if (status !== undefined && !hasEnded(status))
      throw usageError(`--status: jobs that are ${status} are not deleted; cancel them first`);
    const before = Date.now() / 1000 - (this.before === undefined ? 0 : lasting('--before', this.before));
    const owner = this.all ? undefined : (await client.call('getMe')).principal;
    // Somebody may retry one of them after it was listed.
    const only = {
      ...(status !== undefined && { status }),
      ...(this.before !== undefined && { ended_before: before }),
    };
    for await (const id of endedJobs(client, { status, owner }, before)) yield { id, only };
  }

  async #deleteOne(client: ClusterClient, id: string, only: Chosen['only']): Promise<Deletion> {
    const query = { ...only, ...(this.dryRun && { dry_run: 'true' as const }) };
    try {
      return { outcome: await client.call('deleteJob', { params: { id }, query }) };
    } catch (error) {
      // The others go all the same; what concerns all of them ends it.
      if (!(error instanceof ResponseError) || ![403, 404, 409].includes(error.status)) throw error;
      if (error.code === 'missing_rights') throw error;
      return { error, outcome: { id, deleted: false, refused: error.message } };
    }
  }
}

/** A job, and as what it was chosen: the server deletes it only if it is that still. */
interface Chosen {
  id: string;
  only: { status?: JobView['status']; ended_before?: number };
}

interface Deletion {
  outcome: Outcome;
  /** Why the server refused it. */
  error?: ResponseError;
}

type Outcome = { id: string; deleted: boolean } | { id: string; deleted: boolean; refused: string };

/** Jobs that ended before a moment, a page at a time: the newest first. */
async function* endedJobs(
  client: ClusterClient,
  filter: { status: JobView['status'] | undefined; owner: string | undefined },
  before: number,
): AsyncGenerator<string> {
  // What ended before then was submitted before.
  for (let created_before: number | undefined = before; created_before !== undefined; ) {
    const page: JobView[] = await client.call('listJobs', {
      query: { ...filter, created_before, limit: PAGE },
    });
    for (const { id, status, updated_at } of page) if (hasEnded(status) && updated_at < before) yield id;
    created_before = page.length === PAGE ? page.at(-1)?.created_at : undefined;
  }
}
