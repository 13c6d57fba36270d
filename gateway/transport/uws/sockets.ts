import { STREAM_LIMITS, type StreamHandlers, type StreamSocket } from '../transport.ts';
import type { SocketContext, UwsApp, UwsRequest, UwsResponse, UwsSocket } from './library.ts';

type Upgrade = (res: UwsResponse, req: UwsRequest, context: SocketContext) => void;

/** Takes the WebSockets of an app; `upgrade` decides who becomes one. Each carries its own handlers. */
export function serveSockets(app: UwsApp, upgrade: Upgrade): void {
  app.ws<StreamHandlers>('/*', {
    upgrade,
    // The feeds keep count themselves; a message dropped silently would be a missed event.
    maxBackpressure: 0,
    // A client that does not read the close frame is dropped by the library after 16 seconds.
    idleTimeout: STREAM_LIMITS.idleSeconds,
    sendPingsAutomatically: true,
    maxPayloadLength: STREAM_LIMITS.maxMessageBytes,
    open: (ws) => ws.getUserData().open(socketOf(ws)),
    drain: (ws) => ws.getUserData().drained(),
    close: (ws) => ws.getUserData().closed(),
  });
}

function socketOf(ws: UwsSocket<StreamHandlers>): StreamSocket {
  return {
    send: (text) => void ws.send(text),
    cork: (work) => void ws.cork(work),
    buffered: () => ws.getBufferedAmount(),
    end: (code, reason) => ws.end(code, reason),
  };
}
