import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import WebSocket from 'ws';
import { CliError, EXIT } from './exit.ts';

const HOST = '127.0.0.1';

export interface InspectorRelay {
  /** Where a browser opens the inspector. */
  readonly url: string;
  /** Hands one message to every page; resolves once it is on its way. */
  send(text: string): Promise<void>;
  /** Closes the pages' connections too. Idempotent. */
  stop(): Promise<void>;
}

interface RelayOptions {
  /** 0 takes a free one. */
  port: number;
  /** The inspector's page, which the relay shows in a frame. */
  page: string;
  /** Lets the relay open the browser. */
  openBrowser: boolean;
  /** A page has come or gone; told how many there are now. */
  onPages: (open: number) => void;
}

/**
 * Starts the relay of `@statelyai/inspect`: a local page with the inspector in it, and a WebSocket that feeds it.
 *
 * As it comes, the relay listens on every interface, takes connections from pages of any origin, and cannot be
 * stopped while one is open. What it carries is for admins alone, so here it is held to this machine and to its
 * own page; for that its HTTP server has to be caught at its making.
 * @throws CliError when the port cannot be had
 */
export async function startInspectorRelay(options: RelayOptions): Promise<InspectorRelay> {
  const { createInspectorServer } = await import('@statelyai/inspect/server');
  const port = options.port === 0 ? await freePort() : options.port;
  const bridgePath = `/${randomUUID()}`;
  const caught = catchServer(() =>
    createInspectorServer({ port, url: options.page, autoOpen: options.openBrowser }),
  );
  const { server } = caught;
  let pages = 0;
  const count = (change: number) => {
    pages += change;
    options.onPages(pages);
  };
  server.prependListener('upgrade', (request: IncomingMessage, socket: Duplex) => {
    if (request.url === bridgePath) return;
    if (!isOwnPage(request.headers.origin, port)) {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n').destroy();
      return;
    }
    socket.once('close', () => count(-1));
    count(1);
  });
  // The relay does not listen for this error, which would end the process.
  server.removeAllListeners('error');
  await once(server, 'listening').catch((fault: NodeJS.ErrnoException) => {
    throw unavailable(port, fault);
  });
  const bridge = new WebSocket(`ws://${HOST}:${port}${bridgePath}`);
  bridge.on('error', () => {});
  await once(bridge, 'open');
  let stopped: Promise<unknown> | undefined;
  const stop = () => {
    const closed = once(server, 'close');
    bridge.terminate();
    caught.relay.stop();
    for (const socket of caught.sockets) socket.destroy();
    return closed;
  };
  return {
    url: `http://localhost:${port}/`,
    send: (text) =>
      new Promise((resolve, reject) => {
        bridge.send(text, (fault) => (fault ? reject(fault) : resolve()));
      }),
    async stop() {
      stopped ??= stop();
      await stopped;
    },
  };
}

/** Makes the relay and keeps hold of the HTTP server that it makes, which listens on this machine alone. */
function catchServer<R>(make: () => R): { relay: R; server: Server; sockets: Set<Duplex> } {
  const { createServer: original } = http;
  const sockets = new Set<Duplex>();
  let server: Server | undefined;
  http.createServer = ((...args: Parameters<typeof original>) => {
    const made = original(...args);
    const { listen } = made;
    made.listen = ((port: number, ready: () => void) =>
      listen.call(made, { port, host: HOST }, ready)) as typeof listen;
    made.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    server = made;
    return made;
  }) as typeof original;
  try {
    const relay = make();
    if (!server) throw new Error('the relay of @statelyai/inspect made no server');
    return { relay, server, sockets };
  } finally {
    http.createServer = original;
  }
}

/** A browser names the page's origin; programs on this machine name none. */
const isOwnPage = (origin: string | undefined, port: number): boolean =>
  origin === undefined || ['localhost', HOST].some((host) => origin === `http://${host}:${port}`);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function unavailable(port: number, fault: NodeJS.ErrnoException): CliError {
  const why =
    fault.code === 'EADDRINUSE' ? 'it is in use' : fault.code === 'EACCES' ? 'not allowed' : fault.message;
  return new CliError(EXIT.usage, `cannot listen on port ${port}: ${why}`, {
    hint: 'choose another with --port; 0 takes a free one',
  });
}
