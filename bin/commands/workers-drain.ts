import { Option } from 'clipanion';
import { replyOf } from '../../gateway/client/replies.ts';
import type { WorkerView } from '../../machines/schema/views.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { spell } from '../cli/flags.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { workersNamed } from '../jobs/find/find-worker.ts';
import { counted } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';
import { workerState } from '../terminal/status-style.ts';

const NAMED = `
  A worker is named by its id, by the beginning or the end of it, or by its name. It needs the right \`admin\`.
`;

/** A command that does the same to each of the workers that it is given, one after the other. */
abstract class WorkersAct extends ClientCommand {
  workers = Option.Rest({ name: 'worker', required: 1 });

  /** @returns the answer of the server as text */
  protected abstract actOn(session: Session, id: string): Promise<string>;
  /** What it says of a worker then. */
  protected abstract says(answer: string, id: string, session: Session): string;

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    const ids = await workersNamed(client, this.workers);
    for (const id of ids) {
      const answer = await this.actOn(session, id);
      await output.print(output.json ? answer : this.says(answer, id, session));
    }
    return EXIT.done;
  }
}

const called = ({ name, id }: WorkerView): string => plain(name ?? id);

export class WorkersDrainCommand extends WorkersAct {
  static override paths = [['workers', 'drain']];
  static override usage = clientUsage('workers drain', {
    details: `
      A worker that is drained finishes what it runs and is given nothing more, until somebody lets it have tasks again
      with \`jqctl workers resume\`: also when its program, its machine or the server is started anew meanwhile. With
      \`--timeout\` the tasks that it still has after that time are queued again, for other workers, and that costs
      them no attempt; \`--timeout 0\` takes them back at once.
      ${NAMED}
    `,
    examples: [
      ['Before a machine is updated', 'jqctl workers drain node-7'],
      ['The same, with an end to it', 'jqctl workers drain node-7 node-8 --timeout 30min'],
    ],
  });

  timeout = Option.String(
    '--timeout',
    value('TIME', 'such as 90 (seconds) or 30min: what it still has then is queued again'),
  );

  protected actOn({ client }: Session, id: string): Promise<string> {
    const body = this.timeout === undefined ? {} : { timeout_s: spell('--timeout', this.timeout) };
    return client.callText('drainWorker', { params: { id }, body });
  }

  protected says(answer: string, _: string, { output }: Session): string {
    const worker = replyOf('drainWorker', answer);
    const { slots_used } = worker;
    const left = slots_used > 0 ? `, with ${counted(slots_used, 'task')} to finish` : '';
    return `${called(worker)} is ${workerState(worker, output.colours)}${left}`;
  }
}

export class WorkersResumeCommand extends WorkersAct {
  static override paths = [['workers', 'resume']];
  static override usage = clientUsage('workers resume', {
    details: `
      A worker that was drained is given tasks again. One that is not drained is refused.
      ${NAMED}
    `,
    examples: [['After a machine was updated', 'jqctl workers resume node-7']],
  });

  protected actOn({ client }: Session, id: string): Promise<string> {
    return client.callText('resumeWorker', { params: { id } });
  }

  protected says(answer: string, _: string, { output }: Session): string {
    const worker = replyOf('resumeWorker', answer);
    return `${called(worker)} is ${workerState(worker, output.colours)}`;
  }
}

export class WorkersRemoveCommand extends WorkersAct {
  static override paths = [['workers', 'remove']];
  static override usage = clientUsage('workers remove', {
    details: `
      A worker that is dead or stopped is no longer listed. What it was believed to have is queued again at once, and
      that costs no attempt. One that is alive is refused: drain it and end its program first. Should the program of
      one that was removed be started once more, it registers as a new worker.
      ${NAMED}
    `,
    examples: [['A machine that will not come back', 'jqctl workers remove node-7']],
  });

  protected actOn({ client }: Session, id: string): Promise<string> {
    return client.callText('removeWorker', { params: { id } });
  }

  protected says(_: string, id: string): string {
    return `${plain(id)} is removed`;
  }
}
