import { once } from 'node:events';
import { Option } from 'clipanion';
import { inspectionFrames } from '../../gateway/client/inspection-stream.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { type Deadline, withDeadline } from '../cli/deadline.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { id, integer } from '../cli/flags.ts';
import { type InspectorRelay, startInspectorRelay } from '../cli/inspector-relay.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { findActor } from '../jobs/find/find-actor.ts';
import { MAX_RETRIES } from '../jobs/follow/follow.ts';
import { duration } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';

const STATELY = 'https://stately.ai/inspect';

export class InspectCommand extends ClientCommand {
  static override paths = [['inspect']];
  static override usage = clientUsage('inspect', {
    details: `
      Starts the relay of \`@statelyai/inspect\` on this machine and feeds it what the jobs, tasks, workers and the
      supervisor of the server do, for as long as a page is open there. Needs the right \`admin\`. Ends by Ctrl-C.

      The inspector itself is a page of stately.ai, so the browser needs internet; what the server tells stays in
      the browser. Without internet there are the dashboard, \`jqctl machines\`, and \`--json\`, which prints the
      messages one a line and starts no relay. \`--page\` names a copy of the inspector elsewhere.
    `,
    examples: [
      ['Open the inspector', 'jqctl inspect --open'],
      ['One job', 'jqctl inspect --actor job_01k9'],
      ['The messages themselves', 'jqctl inspect --json'],
    ],
  });

  actor = Option.String(
    '--actor',
    value('ID', 'only this job, task or worker, by its id, a part of it or its name; or the supervisor'),
  );
  port = Option.String('--port', '8080', value('PORT', 'port of the relay; 0 takes a free one (8080)'));
  page = Option.String('--page', STATELY, value('URL', `address of the inspector (${STATELY})`));
  open = Option.Boolean('--open', false, { description: 'open it in the browser' });

  protected async act(session: Session): Promise<number> {
    const actor = this.actor === undefined ? undefined : id('actor', this.actor);
    const port = integer('--port', this.port, { max: 65_535 });
    const page = pageAddress(this.page);
    const actorId = actor === undefined ? undefined : await findActor(session.client, actor);
    return withDeadline(undefined, async (deadline) => {
      if (session.output.json) await this.#print(session, actorId, deadline.signal);
      else await this.#relay(session, actorId, { port, page }, deadline);
      return deadline.exit ?? EXIT.done;
    });
  }

  #frames({ client, output }: Session, actorId: string | undefined, signal: AbortSignal) {
    const onRetry = (why: string, s: number) =>
      output.note(output.noteColours.yellow(`${plain(why)}; trying again in ${duration(s)}`));
    return inspectionFrames({ client, actorId, signal, onRetry, maxRetries: MAX_RETRIES });
  }

  async #print(session: Session, actorId: string | undefined, signal: AbortSignal): Promise<void> {
    for await (const text of this.#frames(session, actorId, signal)) await session.output.print(text);
  }

  async #relay(
    session: Session,
    actorId: string | undefined,
    { port, page }: { port: number; page: string },
    { signal }: Deadline,
  ): Promise<void> {
    // A right that is missing is told at once, not when the first page has opened.
    for await (const _ of this.#frames(session, actorId, signal)) break;
    const audience = new Audience();
    const onPages = (open: number) => audience.changed(open);
    const relay = await startInspectorRelay({ port, page, openBrowser: this.open, onPages });
    try {
      this.#announce(session, relay, page);
      while (!signal.aborted) {
        const scene = AbortSignal.any([signal, audience.scene]);
        if (audience.isEmpty) await once(scene, 'abort');
        else for await (const text of this.#frames(session, actorId, scene)) await relay.send(text);
      }
    } finally {
      await relay.stop();
    }
  }

  #announce({ client, output }: Session, relay: InspectorRelay, page: string): void {
    const { bold, yellow } = output.noteColours;
    output.note(`the inspector of ${client.server} is at ${bold(relay.url)}`);
    if (page === STATELY) {
      output.note(yellow('the browser needs internet for it: the inspector is a page of stately.ai'));
    } else output.note(`it shows the page ${page}`);
    output.note('watching as long as a page is open there; Ctrl-C ends');
  }
}

/** The pages that are open. Each that comes has to be told how the actors are, so for it the watch begins anew. */
class Audience {
  #open = 0;
  #scene = new AbortController();

  get isEmpty(): boolean {
    return this.#open === 0;
  }

  /** Aborted when a page comes, and when the last one has gone. */
  get scene(): AbortSignal {
    return this.#scene.signal;
  }

  changed(open: number): void {
    const over = open > this.#open || open === 0;
    this.#open = open;
    if (!over) return;
    const before = this.#scene;
    this.#scene = new AbortController();
    before.abort();
  }
}

function pageAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href;
  throw usageError(`--page: '${text}' is not an http address`);
}
