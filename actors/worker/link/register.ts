import type { ClusterClient } from '../../../gateway/client/client.ts';
import { ResponseError } from '../../../gateway/client/errors.ts';
import type { Registration, Result } from '../../../machines/agent/types.ts';
import type { Identity } from './identity.ts';
import { linkErrorOf } from './link-errors.ts';
import type { Declaration } from './registration.ts';

/**
 * Registers, under the id of earlier days where the server still takes it. A stored id that it refuses (it
 * belongs to another principal, or to another server) is given up for a new one.
 */
export async function register(
  client: ClusterClient,
  identity: Identity,
  declaration: Declaration,
  signal: AbortSignal,
): Promise<Result<Registration>> {
  const send = (worker_id?: string) =>
    client.call('registerWorker', { body: { ...declaration, ...(worker_id && { worker_id }) }, signal });
  try {
    const stored = await identity.read();
    const registration = await send(stored).catch((error: unknown) => {
      const refused = error instanceof ResponseError && (error.status === 403 || error.status === 404);
      if (stored === undefined || !refused) throw error;
      return send();
    });
    await identity.write(registration.worker_id);
    return { ok: true, value: registration };
  } catch (error) {
    const linkError = linkErrorOf(error);
    // There is no worker yet that could be unknown.
    return {
      ok: false,
      linkError: linkError.kind === 'unknown_worker' ? { ...linkError, kind: 'refused' } : linkError,
    };
  }
}
