import uWS, { type TemplatedApp, type us_listen_socket } from 'uWebSockets.js';
import { type AddressInfo, createServer } from 'node:net';
import { GatewayFault, type GatewayFaultCode } from '../faults.ts';

/** Typed without the overload that takes a host and options together, which the library has. */
type Listen = (
  host: string,
  port: number,
  options: number,
  done: (socket: us_listen_socket | false) => void,
) => void;

/** The library exports it under this name; its types hide it in an enumeration that does not exist. */
const EXCLUSIVE_PORT = (uWS as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number })
  .LIBUS_LISTEN_EXCLUSIVE_PORT;

export interface Listening {
  readonly port: number;
  /** Takes no new connections. Idempotent. */
  close(): void;
}

/** Tries with a free port before it is taken for certain that there is none. */
const ATTEMPTS = 20;

/**
 * Listens on a TCP port that no other process shares; 0 takes a free one.
 * @throws GatewayFault that says why not
 */
export async function listen(app: TemplatedApp, host: string, port: number): Promise<Listening> {
  for (let attempt = 1; ; attempt++) {
    const chosen = port === 0 ? await freePort(host) : port;
    const socket = await open(app, host, chosen);
    if (socket) return listening(socket);
    // Between the look for a free port and its use, somebody else may have taken it.
    if (port !== 0 || attempt === ATTEMPTS) throw whyNot(host, chosen, await probe(host, chosen));
  }
}

function open(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket | false> {
  return new Promise((resolve) => {
    // Without the option the kernel would let a second server share the port, and take half of the connections.
    (app.listen as unknown as Listen).call(app, host, port, EXCLUSIVE_PORT, resolve);
  });
}

function listening(socket: us_listen_socket): Listening {
  let isOpen = true;
  return {
    port: uWS.us_socket_local_port(socket as never),
    close: () => {
      if (isOpen) uWS.us_listen_socket_close(socket);
      isOpen = false;
    },
  };
}

/**
 * A port that is free now. The library could take one by itself, but then does not set SO_REUSEADDR, and a
 * server that starts again on the port would have to wait for the last connections to be forgotten.
 */
async function freePort(host: string): Promise<number> {
  const found = await probe(host, 0);
  if (typeof found === 'number') return found;
  throw whyNot(host, 0, found);
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

/** The library does not say why it could not listen; what Node says about the same is as good. */
function whyNot(host: string, port: number, found: number | string): GatewayFault {
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const reasons: Record<string, [GatewayFaultCode, string]> = {
    EADDRINUSE: [
      'port_in_use',
      `port ${port} is in use: another server listens on ${at}; choose another --port`,
    ],
    EACCES: ['port_forbidden', `this user may not listen on ${at}; choose a --port above 1023`],
    EADDRNOTAVAIL: ['address_unavailable', `${host} is no address of this machine; check --host`],
    ENOTFOUND: ['address_unavailable', `the host name '${host}' is unknown; check --host`],
    EAI_AGAIN: ['address_unavailable', `the host name '${host}' cannot be looked up now; check --host`],
  };
  const [fault, message] = reasons[found] ?? [
    'listen_failed',
    `cannot listen on ${at} (${typeof found === 'string' ? found : 'no reason found'})`,
  ];
  return new GatewayFault(fault, message);
}
