import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Header, STREAM_LIMITS, type StreamHandlers } from '../transport.ts';

/** Milliseconds between two looks at who is silent; each look also pings. */
const ROUND = (STREAM_LIMITS.idleSeconds * 1000) / 2;
/** Milliseconds for a client to take the close frame, and all that waits before it. */
const CLOSE_TIMEOUT = 15_000;
/** Bytes beyond which pings are not answered: whoever reads nothing must not fill the memory with pongs. */
const MAX_WAITING_PONGS = 64 * 1024;

const OPTIONS = {
  noServer: true,
  clientTracking: false,
  maxPayload: STREAM_LIMITS.maxMessageBytes,
  perMessageDeflate: false,
  autoPong: false,
  closeTimeout: CLOSE_TIMEOUT,
  handleProtocols: () => false as const,
};

/** The WebSockets of a server. */
export class NodeSockets {
  readonly #server = new WebSocketServer(OPTIONS);
  readonly #open = new Map<WebSocket, { socket: Socket; heard: number; silentRounds: number }>();
  #headers: readonly Header[] = [];
  readonly #rounds: NodeJS.Timeout;

  constructor() {
    this.#server.on('headers', (lines) => {
      for (const [name, value] of this.#headers) lines.push(`${name}: ${value}`);
    });
    this.#rounds = setInterval(() => this.#look(), ROUND);
    this.#rounds.unref();
  }

  /** Answers with 101 and these headers. `rest` is what came behind the head of the request. */
  upgrade(
    request: IncomingMessage,
    rest: Buffer,
    headers: readonly Header[],
    handlers: StreamHandlers,
  ): void {
    // Checked by who calls this, among other protocols that may be named beside it.
    request.headers.upgrade = 'websocket';
    this.#headers = headers;
    this.#server.handleUpgrade(request, request.socket, rest, (ws) =>
      this.#opened(ws, request.socket, handlers),
    );
  }

  /** Idempotent. */
  stop(): void {
    clearInterval(this.#rounds);
  }

  #opened(ws: WebSocket, socket: Socket, handlers: StreamHandlers): void {
    this.#open.set(ws, { socket, heard: socket.bytesRead, silentRounds: 0 });
    // A breach of the protocol; the library closes the socket.
    ws.on('error', () => {});
    ws.on('close', () => {
      this.#open.delete(ws);
      handlers.closed();
    });
    ws.on('ping', (data) => {
      if (ws.bufferedAmount < MAX_WAITING_PONGS) ws.pong(data);
    });
    socket.on('drain', () => handlers.drained());
    handlers.open({
      send: (text) => ws.send(text),
      cork: (work) => {
        socket.cork();
        work();
        socket.uncork();
      },
      buffered: () => ws.bufferedAmount,
      end: (code, reason) => ws.close(code, reason),
    });
  }

  #look(): void {
    for (const [ws, state] of this.#open) {
      state.silentRounds = state.socket.bytesRead === state.heard ? state.silentRounds + 1 : 0;
      state.heard = state.socket.bytesRead;
      if (state.silentRounds * ROUND >= STREAM_LIMITS.idleSeconds * 1000) ws.terminate();
      else if (ws.readyState === ws.OPEN) ws.ping();
    }
  }
}
