import { EventView } from '../../machines/schema/views.ts';
import { readAs } from './replies.ts';
import { type ReconnectOptions, reconnecting, socketFrames } from './socket-frames.ts';

export interface StreamOptions extends ReconnectOptions {
  /** One job's events; absent: all of them. */
  jobId?: string;
  /** Only events after this id; absent: as the server begins. */
  afterId?: number;
}

/** An event, and its text as the server wrote it. */
export interface EventFrame {
  event: EventView;
  text: string;
}

/** Like `eventFrames`, for those who need no text. */
export async function* eventStream(options: StreamOptions): AsyncGenerator<EventView, void, void> {
  for await (const { event } of eventFrames(options)) yield event;
}

/**
 * Events in order, for as long as the reader goes on reading. A lost connection is taken up again behind the
 * last event seen, so none is missed or doubled. Throws `ResponseError` when the server refuses the stream.
 */
export async function* eventFrames(options: StreamOptions): AsyncGenerator<EventFrame, void, void> {
  const { client, jobId, signal } = options;
  const path =
    jobId === undefined ? '/v1/events/stream' : `/v1/jobs/${encodeURIComponent(jobId)}/events/stream`;
  let afterId = options.afterId;
  yield* reconnecting(options, async function* connect() {
    for await (const text of socketFrames(client, path, { after_id: afterId?.toString() }, signal)) {
      const event = readAs(EventView, text, 'an event of the stream');
      // Where a server does not know `after_id`, it begins anew each time.
      if (afterId !== undefined && event.id <= afterId) continue;
      afterId = event.id;
      yield { event, text };
    }
  });
}
