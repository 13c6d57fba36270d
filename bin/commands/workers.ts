import { replyOf } from '../../gateway/client/replies.ts';
import type { WorkerView } from '../../machines/schema/views.ts';
import { conditionOf } from '../../machines/worker/condition.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { clientUsage } from '../cli/usage.ts';
import { ago, clock, dateTime } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';
import { workerState } from '../terminal/status-style.ts';
import { table } from '../terminal/table.ts';

const HALF_A_DAY = 43_200;

export class WorkersCommand extends ClientCommand {
  static override paths = [['workers']];
  static override usage = clientUsage('workers', {
    details: `
      Under \`slots\` stand the slots in use and all of them, under \`runs\` the analysis libraries with their
      versions, under \`version\` that of the worker program; one that differs from the server's is marked with
      \`!\`. A worker that is \`suspended\` lives but asks for no tasks at present; why stands below. One that is
      \`draining\` was told to end and finishes what it has; then it is \`stopped\`. One that an operator drains is
      \`draining\`, then \`drained\`. A \`dead\` one fell silent. Under \`ends\` stands until when a worker can run tasks, where
      one says so.
      \`--json\` has all packages of a worker.
    `,
    examples: [['List the workers', 'jqctl workers']],
  });

  protected async act({ client, output }: Session): Promise<number> {
    const answer = await client.callText('listWorkers');
    const workers = replyOf('listWorkers', answer);
    if (output.json) await output.print(answer);
    else if (workers.length > 0) await output.print(listOf(workers, output));
    else output.note('no worker has registered; start one with: jq-worker');
    return EXIT.done;
  }
}

function listOf(workers: WorkerView[], output: Session['output']): string {
  const now = Date.now() / 1000;
  const haveEnds = workers.some((worker) => endOf(worker, now) !== '-');
  const rows = workers.map((worker) => [
    plain(worker.name ?? '-'),
    workerState(worker, output.colours),
    `${worker.slots_used}/${worker.slots_total}`,
    ...(haveEnds ? [endOf(worker, now)] : []),
    // Below each other where the room is scarce, since their versions are what people look for.
    librariesOf(worker)
      .map(plain)
      .join(output.width === undefined ? ', ' : '\n') || '-',
    plain(labelsOf(worker)),
    versionOf(worker, output),
    ago(now - worker.last_seen_at),
    plain(worker.id),
  ]);
  const columns = [
    { title: 'name', flexible: true },
    { title: 'status' },
    { title: 'slots', align: 'right' as const },
    ...(haveEnds ? [{ title: 'ends', align: 'right' as const }] : []),
    { title: 'runs', flexible: 'last' as const },
    { title: 'labels', flexible: true, optional: true },
    { title: 'version', flexible: true, optional: true },
    { title: 'seen', align: 'right' as const },
    { title: 'worker', ids: true, flexible: true },
  ];
  return [table(columns, rows, output), ...withheld(workers)].join('\n');
}

/** Until when it can run tasks, where it says so. */
function endOf({ status, capabilities: { ends_at } }: WorkerView, now: number): string {
  if (status !== 'alive' || typeof ends_at !== 'number') return '-';
  return Math.abs(ends_at - now) < HALF_A_DAY ? clock(ends_at) : dateTime(ends_at);
}

/** Why workers ask for no tasks, or are given none, a line each. */
const withheld = (workers: WorkerView[]): string[] =>
  workers.flatMap((worker) => {
    const { name, id, suspended, drained } = worker;
    const called = plain(name ?? id);
    return [
      ...(conditionOf(worker) === 'suspended' ? [`${called} is suspended: ${plain(suspended ?? '')}`] : []),
      ...(drained ? [`${called} is given no tasks: ${drainWords(drained)}`] : []),
    ];
  });

/** Who drained it and when; when it has to give back what it still has. */
function drainWords({ by, at, takes_back_at }: NonNullable<WorkerView['drained']>): string {
  const now = Date.now() / 1000;
  const left =
    takes_back_at === null || takes_back_at <= now ? '' : `, until ${clock(takes_back_at)} with what it has`;
  return `drained by ${plain(by)} ${ago(now - at)}${left} (jqctl workers resume)`;
}

/** The libraries that a worker says it runs; workers of other make say only what they have. */
function librariesOf({ capabilities, version }: WorkerView): string[] {
  const packages = version.packages ?? {};
  const { libraries } = capabilities;
  const names = Array.isArray(libraries) ? libraries.map(String) : Object.keys(packages);
  return names.map((name) => {
    const found = Object.hasOwn(packages, name) ? packages[name] : undefined;
    return found === undefined || found === 'unknown' ? name : `${name} ${found}`;
  });
}

const labelsOf = ({ labels }: WorkerView) =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',') || '-';

function versionOf(
  { cluster_version: version, version_divergent: differs }: WorkerView,
  output: Session['output'],
) {
  const text = plain(version ?? '-');
  return differs ? output.colours.yellow(`${text} !`) : text;
}
