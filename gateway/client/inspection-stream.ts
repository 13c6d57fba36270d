import { leaderBeside } from './leading.ts';
import { type ReconnectOptions, reconnecting, socketFrames } from './socket-frames.ts';

export interface InspectionOptions extends ReconnectOptions {
  /** Only this actor; absent: all of them. */
  actorId?: string | undefined;
}

/**
 * Inspection messages as JSON text, for as long as the reader goes on reading. Nothing can be resumed: each new
 * connection begins with the actors as they are then. They are those of the server that leads, which a server that stands by
 * names. Throws `ResponseError` when the server refuses the stream.
 */
export function inspectionFrames(options: InspectionOptions): AsyncGenerator<string, void, void> {
  const { client, actorId, signal } = options;
  return reconnecting(options, async function* connect() {
    const address = await leaderBeside(client, signal);
    const leading = address === null ? client : client.at(address);
    try {
      yield* socketFrames(leading, '/v1/inspect', { actor: actorId }, signal);
    } finally {
      if (leading !== client) await leading.close();
    }
  });
}
