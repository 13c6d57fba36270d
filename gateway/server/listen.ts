import uWS, { type TemplatedApp, type us_listen_socket } from 'uWebSockets.js';
import { createServer } from 'node:net';
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

/**
 * Listens on a TCP port that no other process shares.
 * @throws GatewayFault that says why not
 */
export async function listen(app: TemplatedApp, host: string, port: number): Promise<Listening> {
  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    // Without it the kernel would let a second server share the port, and take half of the connections.
    (app.listen as unknown as Listen).call(app, host, port, EXCLUSIVE_PORT, resolve);
  });
  if (!socket) throw await whyNot(host, port);
  let open = true;
  return {
    port: uWS.us_socket_local_port(socket as never),
    close: () => {
      if (open) uWS.us_listen_socket_close(socket);
      open = false;
    },
  };
}

/** The library does not say why it could not listen, so Node is asked to do the same. */
async function whyNot(host: string, port: number): Promise<GatewayFault> {
  const code = await tryListening(host, port);
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
  const [fault, message] = reasons[code ?? ''] ?? [
    'listen_failed',
    `cannot listen on ${at} (${code ?? 'unknown'})`,
  ];
  return new GatewayFault(fault, message);
}

function tryListening(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (fault: NodeJS.ErrnoException) => resolve(fault.code));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
}
