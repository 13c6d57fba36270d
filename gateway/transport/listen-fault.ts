import { StartError, type StartErrorCode } from '../../machines/protocol/start-error.ts';

/**
 * Why nothing can listen at an address, in words that say what to do.
 * @param code of the system's error, or whatever else is known
 */
export function listenFault(host: string, port: number, code: string | undefined): StartError {
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const reasons: Record<string, [StartErrorCode, string]> = {
    EADDRINUSE: [
      'port_in_use',
      `port ${port} is in use: another server listens on ${at}; choose another --port`,
    ],
    EACCES: ['port_forbidden', `this user may not listen on ${at}; choose a --port above 1023`],
    EADDRNOTAVAIL: ['address_unavailable', `${host} is no address of this machine; check --host`],
    ENOTFOUND: ['address_unavailable', `the host name '${host}' is unknown; check --host`],
    EAI_AGAIN: ['address_unavailable', `the host name '${host}' cannot be looked up now; check --host`],
  };
  const [fault, message] = (code === undefined ? undefined : reasons[code]) ?? [
    'listen_failed',
    `cannot listen on ${at} (${code ?? 'no reason found'})`,
  ];
  return new StartError(fault, message);
}
