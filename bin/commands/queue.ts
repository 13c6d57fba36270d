import { Option } from 'clipanion';
import { replyOf } from '../../gateway/client/replies.ts';
import type { DemandView } from '../../machines/schema/demand.ts';
import type { PauseView } from '../../machines/schema/views.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { ifUnsupported } from '../jobs/cluster-snapshot.ts';
import { demandTable } from '../terminal/demand.ts';
import { ago, counted } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';

/** What is paused, a line each. */
function pausesIn(paused: readonly PauseView[]): string {
  if (paused.length === 0) return 'nothing is paused';
  const now = Date.now() / 1000;
  return paused
    .map(({ kind, name, by, at }) => {
      const what = kind === 'all' ? 'the queue' : `${kind} ${plain(name)}`;
      return `${what} is paused by ${plain(by)}, ${ago(now - at)}`;
    })
    .join('\n');
}

export class QueueCommand extends ClientCommand {
  static override paths = [['queue']];
  static override usage = clientUsage('queue', {
    details: `
      How many tasks wait and run, how free slots are shared (\`jq-server --share\`), what is paused, and what is wanted of
      workers: how many tasks would run now, by what they require and how long one may take, and how many slots of the
      workers that are there could take them.
    `,
    examples: [['Is anything paused?', 'jqctl queue']],
  });

  protected async act({ client, output }: Session): Promise<number> {
    const [stats, demand] = await Promise.all([
      client.call('getStats'),
      client.call('getDemand').catch(ifUnsupported<DemandView | null>(null)),
    ]);
    const { share = 'fifo', paused = [], tasks_by_status, tasks_in_flight } = stats;
    const queued = tasks_by_status.queued ?? 0;
    const text = [
      `${counted(queued, 'task')} waiting, ${tasks_in_flight} under way; slots are shared by ${plain(share)}`,
      pausesIn(paused),
      ...(demand === null || demand.slots_wanted === 0 ? [] : ['', demandTable(demand, output)]),
    ].join('\n');
    await output.print(
      output.json ? JSON.stringify({ queued, tasks_in_flight, share, paused, demand }) : text,
    );
    return EXIT.done;
  }
}

/** Of what the queue is paused or resumed. */
abstract class QueueAct extends ClientCommand {
  jobType = Option.String('--type', value('TYPE', 'only jobs of this type, such as mljs.run'));
  owner = Option.String('--owner', value('NAME', 'only jobs of this principal'));

  protected abstract readonly route: 'pauseQueue' | 'resumeQueue';

  protected async act({ client, output }: Session): Promise<number> {
    if (this.jobType !== undefined && this.owner !== undefined)
      throw usageError('name a --type or an --owner, not both');
    const body = {
      ...(this.jobType !== undefined && { type: this.jobType }),
      ...(this.owner !== undefined && { owner: this.owner }),
    };
    const answer = await client.callText(this.route, { body });
    const { paused } = replyOf(this.route, answer);
    await output.print(output.json ? answer : pausesIn(paused));
    return EXIT.done;
  }
}

export class QueuePauseCommand extends QueueAct {
  static override paths = [['queue', 'pause']];
  static override usage = clientUsage('queue pause', {
    details: `
      Nothing more is leased, of all jobs, those of a type, or those of an owner; what runs goes on, and jobs are taken
      as ever. It stays so, also when the server is started anew, until it is resumed in the same words. Needs the right
      \`admin\`.
    `,
    examples: [
      ['Before a file server is moved', 'jqctl queue pause'],
      ["A colleague's sweep has a fault", 'jqctl queue pause --owner ann'],
    ],
  });
  protected readonly route = 'pauseQueue';
}

export class QueueResumeCommand extends QueueAct {
  static override paths = [['queue', 'resume']];
  static override usage = clientUsage('queue resume', {
    details: `
      Lifts what \`jqctl queue pause\` said in the same words; other pauses stay. Needs the right \`admin\`.
    `,
    examples: [['All of it', 'jqctl queue resume']],
  });
  protected readonly route = 'resumeQueue';
}
