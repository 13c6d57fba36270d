import { type ReconnectOptions, reconnecting, socketFrames } from './socket-frames.ts';

export interface InspectionOptions extends ReconnectOptions {
  /** Only this actor; absent: all of them. */
  actorId?: string | undefined;
}

/**
 * Inspection messages as JSON text, for as long as the reader goes on reading. Nothing can be resumed: each new
 * connection begins with the actors as they are then. Throws `ResponseError` when the server refuses the stream.
 */
export function inspectionFrames(options: InspectionOptions): AsyncGenerator<string, void, void> {
  const { client, actorId, signal } = options;
  return reconnecting(options, () => socketFrames(client, '/v1/inspect', { actor: actorId }, signal));
}
