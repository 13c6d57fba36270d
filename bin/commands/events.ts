import { Option } from 'clipanion';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import { type EventFrame, eventFrames } from '../../gateway/client/event-stream.ts';
import { readAs } from '../../gateway/client/replies.ts';
import { compact } from '../../machines/json/raw.ts';
import { EventView } from '../../machines/schema/views.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { withDeadline } from '../cli/deadline.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { integer } from '../cli/flags.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { MAX_RETRIES } from '../jobs/follow/follow.ts';
import { feedLines } from '../terminal/feed-line.ts';
import { duration } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';

/** Events of one page; the server's most. */
const PAGE = 5000;

export class EventsCommand extends ClientCommand {
  static override paths = [['events']];
  static override usage = clientUsage('events', {
    details: `
      Prints the last events of the whole server, oldest first; with \`--after-id\` all that came after an event.
      With \`--follow\` it goes on with what happens, until Ctrl-C; a lost connection is taken up again, with no
      event missed or doubled, for about a minute.

      \`--json\` prints one event a line.
    `,
    examples: [
      ['What happened last', 'jqctl events --limit 50'],
      ['Keep a record, and take it up again', 'jqctl events --follow --json --after-id 1042 >> events.jsonl'],
    ],
  });

  follow = Option.Boolean('-f,--follow', false, { description: 'go on with what happens, until Ctrl-C' });
  afterId = Option.String('--after-id', value('N', 'all events after the one with this number'));
  limit = Option.String('--limit', value('N', 'how many of the last events, up to 5000 (20)'));

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    if (this.afterId !== undefined && this.limit !== undefined) {
      throw usageError('--limit is for the last events; it does not go with --after-id');
    }
    const limit = integer('--limit', this.limit ?? '20', { min: 1, max: PAGE });
    const afterId = this.afterId === undefined ? undefined : integer('--after-id', this.afterId);
    let last = afterId;
    try {
      const stored = afterId === undefined ? lastEvents(client, limit) : allAfter(client, afterId);
      for await (const frame of stored) {
        last = frame.event.id;
        await print(session, frame);
      }
      // Where there was nothing yet, what comes first is not missed.
      last ??= 0;
    } catch (error) {
      // A server of other make may have the stream alone, which begins with what happened last.
      if (!this.follow || !(error instanceof ResponseError) || error.status !== 404) throw error;
    }
    if (!this.follow) return EXIT.done;
    return withDeadline(undefined, async (deadline) => {
      const { signal } = deadline;
      const onRetry = (why: string, s: number) =>
        output.note(output.noteColours.yellow(`${plain(why)}; trying again in ${duration(s)}`));
      const frames = eventFrames({
        client,
        ...(last !== undefined && { afterId: last }),
        signal,
        onRetry,
        maxRetries: MAX_RETRIES,
      });
      for await (const frame of frames) await print(session, frame);
      return deadline.exit ?? EXIT.done;
    });
  }
}

async function print({ output }: Session, { event, text }: EventFrame): Promise<void> {
  const lines = feedLines(event, Date.now() / 1000, output.colours);
  await output.print(output.json ? compact(text) : lines.join('\n'));
}

async function* lastEvents(client: ClusterClient, limit: number): AsyncGenerator<EventFrame> {
  yield* frames(await client.callList('listEvents', { query: { limit } }));
}

async function* allAfter(client: ClusterClient, afterId: number): AsyncGenerator<EventFrame> {
  for (let after = afterId; ; ) {
    const page = frames(await client.callList('listEvents', { query: { after_id: after, limit: PAGE } }));
    yield* page;
    after = page.at(-1)?.event.id ?? after;
    if (page.length < PAGE) return;
  }
}

const frames = (page: readonly string[]): EventFrame[] =>
  page.map((text) => ({ event: readAs(EventView, text, 'an event of the list'), text }));
