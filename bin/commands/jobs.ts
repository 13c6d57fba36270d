import { Option } from 'clipanion';
import { replyOf } from '../../gateway/client/replies.ts';
import { JOB_STATUSES } from '../../machines/schema/statuses.ts';
import type { JobView } from '../../machines/schema/views.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { integer, word } from '../cli/flags.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { taskBar } from '../terminal/bar.ts';
import { ago, bestOf } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';
import { jobState } from '../terminal/status-style.ts';
import { table } from '../terminal/table.ts';

export class JobsCommand extends ClientCommand {
  static override paths = [['jobs']];
  static override usage = clientUsage('jobs', {
    details: `Under \`tasks\` stand the tasks that have ended and all of them, under \`best\` the best rank metric.`,
    examples: [
      ['The last ten', 'jqctl jobs --limit 10'],
      ['What failed', 'jqctl jobs --status failed'],
    ],
  });

  status = Option.String('--status', value('STATUS', `only jobs in this state: ${JOB_STATUSES.join(', ')}`));
  name = Option.String('--name', value('NAME', 'only jobs with this in their name'));
  limit = Option.String('--limit', '20', value('N', 'how many at most, up to 1000'));

  protected async act({ client, output }: Session): Promise<number> {
    const query = {
      limit: integer('--limit', this.limit, { min: 1, max: 1000 }),
      ...(this.name === undefined ? {} : { name: this.name }),
      ...(this.status === undefined ? {} : { status: word('--status', this.status, JOB_STATUSES) }),
    };
    const answer = await client.callText('listJobs', { query });
    const jobs = replyOf('listJobs', answer);
    if (output.json) await output.print(answer);
    else if (jobs.length > 0) await output.print(listOf(jobs, output));
    else output.note('no such jobs');
    return EXIT.done;
  }
}

/** Columns of the bar of tasks. */
const BAR = 6;

const endedTasks = ({ aggregate: sum }: JobView): number =>
  sum.num_succeeded + sum.num_failed + sum.num_cancelled;

function listOf(jobs: JobView[], output: Session['output']): string {
  const now = Date.now() / 1000;
  const rows = jobs.map((job) => [
    plain(job.id),
    plain(job.name ?? '-'),
    jobState(job, output.colours),
    `${taskBar(job.aggregate, BAR, output.colours)} ${endedTasks(job)}/${job.aggregate.num_tasks}`,
    bestOf(job),
    ago(now - job.created_at),
  ]);
  const columns = [
    { title: 'job', ids: true },
    { title: 'name', flexible: true },
    { title: 'status' },
    { title: 'tasks', align: 'right' as const },
    { title: 'best', align: 'right' as const, optional: true },
    { title: 'submitted', align: 'right' as const, optional: true },
  ];
  return table(columns, rows, output);
}
