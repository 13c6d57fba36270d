import { type AddressInfo, createServer } from 'node:net';
import { listenFault } from '../listen-fault.ts';
import type { ListenSocket, UwsApp, UwsLibrary } from './library.ts';

/** Tries with a free port before it is taken for certain that there is none. */
const ATTEMPTS = 20;

/** A listening socket: closed, it takes no new connections. */
export interface Listener {
  readonly port: number;
  /** Idempotent. */
  close(): void;
}

/** Where to listen. */
export interface Place {
  readonly host: string;
  readonly port: number;
  /** Whether another listener of this program may be opened beside this one, to take over from it. */
  readonly shared: boolean;
}

/**
 * Listens on a TCP port that no other process shares; 0 takes a free one.
 * @throws StartError that says why not
 */
export async function listen(uws: UwsLibrary, app: UwsApp, place: Place): Promise<Listener> {
  const { host, port, shared } = place;
  for (let attempt = 1; ; attempt++) {
    const chosen = port === 0 || shared ? await unusedPort(host, port) : port;
    const listener = await openListener(uws, app, { ...place, port: chosen });
    if (listener) return listener;
    // Between the look for a free port and its use, somebody else may have taken it.
    if (port !== 0 || attempt === ATTEMPTS) throw whyNot(host, chosen, await probe(host, chosen));
  }
}

/** Resolves to null where the library cannot listen; it does not say why. */
export async function openListener(
  uws: UwsLibrary,
  app: UwsApp,
  { host, port, shared }: Place,
): Promise<Listener | null> {
  const socket = await new Promise<ListenSocket | false>((resolve) => {
    // Without the option the kernel would let a second server share the port, and take half of the connections.
    app.listen(host, port, shared ? 0 : uws.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve);
  });
  if (!socket) return null;
  let isOpen = true;
  return {
    port: uws.us_socket_local_port(socket),
    close: () => {
      if (isOpen) uws.us_listen_socket_close(socket);
      isOpen = false;
    },
  };
}

/**
 * The port, or for 0 a free one, which nobody listens on now. The library could take a free one by itself, but then does
 * not set SO_REUSEADDR, and a server that starts again on the port would have to wait for the last connections to be
 * forgotten.
 * @throws StartError that says why not
 */
async function unusedPort(host: string, port: number): Promise<number> {
  const found = await probe(host, port);
  if (typeof found === 'number') return found;
  throw whyNot(host, port, found);
}

/** Listens for a moment, the way Node does: the port, or the code of what speaks against it. */
function probe(host: string, port: number): Promise<number | string> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (fault: NodeJS.ErrnoException) => resolve(fault.code ?? fault.message));
    server.listen({ host, port, exclusive: true }, () => {
      const { port: taken } = server.address() as AddressInfo;
      server.close(() => resolve(taken));
    });
  });
}

/** What Node says about the same is as good as what the library does not say. */
const whyNot = (host: string, port: number, found: number | string) =>
  listenFault(host, port, typeof found === 'string' ? found : undefined);
