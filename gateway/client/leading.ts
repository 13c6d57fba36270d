import type { ClusterClient } from './client.ts';
import { ResponseError, UntrustedError } from './errors.ts';

/**
 * Where the server leads that this one stands by for; null where it leads itself, or nobody knows. It is for what no server sends
 * on: what is in the memory of the one that leads. The credential of the client goes where the one that was asked would have
 * sent it.
 * @throws UntrustedError where that would be the first time that it goes without TLS; what `call` throws
 */
export async function leaderBeside(client: ClusterClient, signal?: AbortSignal): Promise<string | null> {
  const target = signal === undefined ? {} : { signal };
  const { leads } = await client.call('readyz', target).catch((error: unknown) => {
    // Who is not ready, or is of other make, says more when it is asked for the thing itself.
    if (error instanceof ResponseError) return { leads: true };
    throw error;
  });
  if (leads) return null;
  const { servers } = await client.call('listServers', target);
  const address = servers.find(({ epoch }) => epoch !== null)?.address ?? null;
  if (address?.startsWith('http:') && client.token !== undefined && client.server.startsWith('https:'))
    throw new UntrustedError(
      `${client.server} stands by, and the one that leads, ${address}, is without TLS: the credential is not sent there`,
    );
  return address;
}
