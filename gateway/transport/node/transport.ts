import { createServer, type Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import { type AddressInfo, Server, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { listenFault } from '../listen-fault.ts';
import { readTls, type TlsFiles } from '../tls.ts';
import type { Header, Incoming, Listening, ListenOptions, Transport } from '../transport.ts';
import { NodeIncoming } from './incoming.ts';
import { HEAD_TIMEOUT, MAX_HEAD, MAX_HEADERS } from './limits.ts';
import { refuse } from './refuse.ts';
import { RequestOrder } from './request-order.ts';
import { NodeSockets } from './sockets.ts';

/** Milliseconds between two looks at connections whose head is late. */
const LOOK = 1000;

/** HTTP and WebSocket by node:http and ws. */
export async function nodeTransport(): Promise<Transport> {
  return {
    name: 'node',
    listen: async (host, port, options) => new NodeServer(options).listen(host, port),
  };
}

/**
 * A request that is an upgrade only where it asks for a WebSocket. Clients that offer HTTP/2 by the way
 * (`Upgrade: h2c`) are served as if they had not, bodies included.
 */
class Request extends IncomingMessage {
  /** What the parser found. Declared only: it is set while the constructor of the base class still runs. */
  declare asked: boolean | null;

  set upgrade(asked: boolean | null) {
    this.asked = asked;
  }

  get upgrade(): boolean | null {
    if (!this.asked || this.method === 'CONNECT') return this.asked;
    const { upgrade, 'content-length': length, 'transfer-encoding': encoding } = this.headers;
    return /(^|,)\s*websocket\s*(,|$)/i.test(upgrade ?? '') && (length ?? '0') === '0' && !encoding;
  }
}

const OPTIONS = {
  IncomingMessage: Request,
  maxHeaderSize: MAX_HEAD,
  headersTimeout: HEAD_TIMEOUT,
  keepAliveTimeout: HEAD_TIMEOUT,
  // A body may take as long as it comes at all.
  requestTimeout: 0,
  connectionsCheckingInterval: LOOK,
};

/**
 * Drops a connection on which nothing has moved, once what waits in it is read: after a time in which this process stood
 * still, its timers come before that.
 */
function dropUnlessItMoves(socket: Socket): void {
  const { bytesRead, writableLength } = socket;
  setImmediate(() => {
    if (socket.bytesRead === bytesRead && socket.writableLength === writableLength) socket.destroy();
  });
}

function contextOf(tls: TlsFiles) {
  const { cert, key } = readTls(tls);
  return { cert, key, minVersion: 'TLSv1.2' as const };
}

class NodeServer {
  readonly #handle: ListenOptions['handle'];
  readonly #headers: readonly Header[];
  readonly #log: Logger;
  readonly #sockets = new NodeSockets();
  readonly #order = new RequestOrder();
  readonly #connections = new Set<Socket>();
  readonly #server: HttpServer | SecureServer;
  readonly #tls: TlsFiles | undefined;

  constructor({ handle, headers, log, tls }: ListenOptions) {
    this.#handle = handle;
    this.#headers = headers;
    this.#log = log;
    this.#tls = tls;
    const server = tls
      ? createSecureServer({ ...OPTIONS, ...contextOf(tls), handshakeTimeout: HEAD_TIMEOUT })
      : createServer(OPTIONS);
    this.#server = server;
    // Those beyond would be left out without a word; there are as many as fit, and then they are counted.
    server.maxHeadersCount = 0;
    server.on('connection', (socket) => this.#connected(socket));
    server.on('request', (request, response) => this.#take(request, response));
    server.on('upgrade', (request, _, rest) => this.#takeRaw(request, rest));
    server.on('connect', (request, _, rest) => this.#takeRaw(request, rest));
    server.on('timeout', dropUnlessItMoves);
    server.on('checkExpectation', (request) => refuse(request.socket, this.#headers, 'EXPECTATION'));
    server.on('clientError', (fault: NodeJS.ErrnoException & { reason?: string }, socket) =>
      refuse(socket, this.#headers, fault.code ?? '', fault.reason),
    );
  }

  async listen(host: string, port: number): Promise<Listening> {
    const server = this.#server;
    await new Promise<void>((resolve, reject) => {
      server.on('error', (fault: NodeJS.ErrnoException) => {
        // Later ones are of single connections that could not be taken; the server goes on.
        if (server.listening) this.#log.warn({ err: fault }, 'a connection could not be taken');
        else reject(listenFault(host, port, fault.code ?? fault.message));
      });
      server.listen({ host, port, exclusive: true }, resolve);
    }).catch((error) => {
      this.#sockets.stop();
      throw error;
    });
    return {
      port: (server.address() as AddressInfo).port,
      // Not the HTTP server's own, which cuts off answers that a client has not taken yet.
      stopListening: () => void Server.prototype.close.call(server),
      renewTls: async () => {
        if (this.#tls && 'setSecureContext' in server) server.setSecureContext(contextOf(this.#tls));
      },
      close: () => {
        server.close();
        this.#sockets.stop();
        for (const socket of this.#connections) socket.destroy();
      },
    };
  }

  #connected(socket: Socket): void {
    this.#connections.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#connections.delete(socket));
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    if (request.rawHeaders.length > 2 * MAX_HEADERS)
      refuse(request.socket, this.#headers, 'TOO_MANY_HEADERS');
    else this.#order.take(request.socket, response, () => this.#handle(new NodeIncoming(request, response)));
  }

  /** The connection is no longer the HTTP server's, so an answer that refuses is the last one on it. */
  #takeRaw(request: IncomingMessage, rest: Buffer): void {
    const { socket } = request;
    const response = new ServerResponse(request);
    // Before the answers to the requests before it are out, there is no place for another.
    if ((socket as { _httpMessage?: unknown })._httpMessage) return void socket.destroy();
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    const upgrade = request.method === 'CONNECT' ? undefined : this.#upgraderOf(request, response, rest);
    this.#handle(new NodeIncoming(request, response, upgrade));
  }

  #upgraderOf(request: IncomingMessage, response: ServerResponse, rest: Buffer) {
    return (...[headers, stream]: Parameters<NonNullable<Incoming['upgrade']>>) => {
      response.detachSocket(request.socket);
      this.#sockets.upgrade(request, rest, headers, stream);
    };
  }
}
