import { Option } from 'clipanion';
import { replyOf } from '../../gateway/client/replies.ts';
import { TYPE_ENDINGS } from '../../machines/schema/job-types.ts';
import { JOB_STATUSES } from '../../machines/schema/statuses.ts';
import type { JobView } from '../../machines/schema/views.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { integer, moment, word } from '../cli/flags.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { taskBar } from '../terminal/bar.ts';
import { ago, bestOf } from '../terminal/format.ts';
import type { Output } from '../terminal/output.ts';
import { plain } from '../terminal/plain.ts';
import { jobState } from '../terminal/status-style.ts';
import { type Column, table } from '../terminal/table.ts';

export class JobsCommand extends ClientCommand {
  static override paths = [['jobs']];
  static override usage = clientUsage('jobs', {
    details: `
      Under \`tasks\` stand the tasks that have ended and all of them, under \`best\` the best rank metric. What is given of
      \`--status\`, \`--owner\` and the like, a job has all of.
    `,
    examples: [
      ['The last ten', 'jqctl jobs --limit 10'],
      ['What failed', 'jqctl jobs --status failed'],
      ['Without predictions', 'jqctl jobs --kind run'],
      ['Your own of the last week, by a tag', 'jqctl jobs --owner me --since 7d --tag corn'],
    ],
  });

  status = Option.String('--status', value('STATUS', `only jobs in this state: ${JOB_STATUSES.join(', ')}`));
  name = Option.String('--name', value('NAME', 'only jobs with this in their name'));
  owner = Option.String('--owner', value('PRINCIPAL', 'only jobs that they submitted; `me`: your own'));
  type = Option.String('--type', value('TYPE', 'only jobs of this type, such as mljs.run'));
  library = Option.String('--library', value('LIB', 'only jobs of this library, such as mljs'));
  kind = Option.String(
    '--kind',
    value('KIND', 'only jobs that `run` pipelines, or only those that `predict`'),
  );
  tags = Option.Array('--tag', [], value('TAG', 'only jobs with this tag; repeatable'));
  since = Option.String('--since', value('TIME', 'only jobs submitted since then, such as 7d or 2026-11-29'));
  until = Option.String('--until', value('TIME', 'only jobs submitted before, such as 7d or 2026-11-29'));
  limit = Option.String('--limit', '20', value('N', 'how many at most, up to 1000'));

  protected async act({ client, output }: Session): Promise<number> {
    const query = {
      limit: integer('--limit', this.limit, { min: 1, max: 1000 }),
      ...(this.name === undefined ? {} : { name: this.name }),
      ...(this.status === undefined ? {} : { status: word('--status', this.status, JOB_STATUSES) }),
      ...(this.owner === undefined ? {} : { owner: this.owner }),
      ...(this.type === undefined ? {} : { type: this.type }),
      ...(this.library === undefined ? {} : { library: this.library }),
      ...(this.kind === undefined ? {} : { kind: word('--kind', this.kind, TYPE_ENDINGS) }),
      ...(this.tags.length === 0 ? {} : { tag: this.tags.join(',') }),
      ...(this.since === undefined ? {} : { since: moment('--since', this.since) }),
      ...(this.until === undefined ? {} : { until: moment('--until', this.until) }),
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

function listOf(jobs: JobView[], output: Output): string {
  const now = Date.now() / 1000;
  const columns = COLUMNS.filter(({ tells }) => tells?.(jobs) ?? true);
  const rows = jobs.map((job) => columns.map(({ cell }) => cell(job, output.colours, now)));
  return table(columns, rows, output);
}

interface JobColumn extends Column {
  cell(job: JobView, colours: Output['colours'], now: number): string;
  /** Whether it says anything of these jobs; without it, always. */
  tells?(jobs: readonly JobView[]): boolean;
}

const COLUMNS: readonly JobColumn[] = [
  { title: 'job', ids: true, cell: ({ id }) => plain(id) },
  { title: 'name', flexible: true, cell: ({ name }) => plain(name ?? '-') },
  { title: 'status', cell: (job, colours) => jobState(job, colours) },
  {
    title: 'tasks',
    align: 'right',
    cell: (job, colours) => {
      const bar = taskBar(job.aggregate, BAR, colours);
      return `${bar} ${endedTasks(job)}/${job.aggregate.num_tasks}`;
    },
  },
  { title: 'best', align: 'right', optional: true, cell: (job) => bestOf(job) },
  {
    title: 'submitted',
    align: 'right',
    optional: true,
    cell: ({ created_at }, _, now) => ago(now - created_at),
  },
  {
    title: 'tags',
    optional: true,
    cell: ({ tags = [] }) => plain(tags.join(', ')),
    tells: (jobs) => jobs.some(({ tags = [] }) => tags.length > 0),
  },
  {
    title: 'owner',
    optional: true,
    cell: ({ owner }) => plain(owner ?? '-'),
    tells: (jobs) => new Set(jobs.map(({ owner }) => owner)).size > 1,
  },
];
