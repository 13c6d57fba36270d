import { Option } from 'clipanion';
import { replyOf } from '../../gateway/client/replies.ts';
import { rankMetricOf } from '../../machines/ranking/table.ts';
import type { RankingEntry } from '../../machines/schema/views.ts';
import type { Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { integer } from '../cli/flags.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { plain } from '../terminal/plain.ts';
import { rankingTable } from '../terminal/ranking-report.ts';

/** Rows that a person wants at a glance, unless more are asked for. */
const SHOWN = 20;

export class RankingCommand extends JobCommand {
  static override paths = [['ranking']];
  static override usage = jobUsage('ranking', {
    details: `
      The succeeded tasks of a job, best first, by its rank metric; those that lack it come last. Shows the first
      20 unless \`--top\` says how many; \`--csv\` and \`--json\` print all of them, with all of their metrics, as
      the server writes them.
    `,
    examples: [
      ['The best ten', 'jqctl ranking job_01k9 --top 10'],
      ['All of it, for a spreadsheet', 'jqctl ranking job_01k9 --csv > ranking.csv'],
    ],
  });

  top = Option.String('--top', value('N', 'only the best so many'));
  csv = Option.Boolean('--csv', false, { description: 'print a table of comma-separated values' });

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    if (this.csv && output.json) throw usageError('--csv and --json are two forms: take one');
    const limit = this.top === undefined ? undefined : integer('--top', this.top, { min: 1, max: 10_000 });
    const id = await this.jobId(session);
    const whole = this.csv || output.json;
    const query = {
      ...(limit !== undefined || !whole ? { limit: limit ?? SHOWN } : {}),
      ...(this.csv ? { format: 'csv' as const } : {}),
    };
    const text = await client.callText('getJobRanking', { params: { id }, query });
    if (whole) await output.print(text.trimEnd());
    else await this.#show(session, id, replyOf('getJobRanking', text));
    return EXIT.done;
  }

  async #show({ client, output }: Session, id: string, entries: readonly RankingEntry[]): Promise<void> {
    const { aggregate } = await client.call('getJob', { params: { id } });
    if (entries.length === 0) {
      output.note(`no task of ${plain(id)} has succeeded yet`);
      return;
    }
    await output.print(rankingTable(entries, rankMetricOf(aggregate), new Map(), output));
    const more = aggregate.num_succeeded - entries.length;
    if (more > 0) output.note(output.noteColours.dim(`and ${more} more; --top N shows more of them`));
  }
}
