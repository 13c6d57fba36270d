import type { ClusterClient } from './client.ts';
import { UnreachableError, UntrustedError } from './errors.ts';

/** Milliseconds for which an address is waited for. */
const PATIENCE_MS = 5_000;

/**
 * Asks each address that a client knows beside the one that it asks at present, all at once. Nobody would hear of one that is gone as long as
 * another one answers.
 * @param ask a client of that address alone
 * @returns what each said, or why it did not
 */
export function askBeside<T>(
  client: ClusterClient,
  ask: (beside: ClusterClient, target: { timeoutMs: number; signal?: AbortSignal }) => Promise<T>,
  signal?: AbortSignal,
): Promise<{ server: string; said: T | Error }[]> {
  const target = { timeoutMs: PATIENCE_MS, ...(signal && { signal }) };
  const askOne = async (server: string) => {
    const beside = client.at(server);
    try {
      return { server, said: await ask(beside, target) };
    } catch (error) {
      return { server, said: error as Error };
    } finally {
      await beside.close();
    }
  };
  return Promise.all(client.others.map(askOne));
}

/** Whether nothing answers there that is the server. */
export const isNobody = (said: unknown): said is UnreachableError | UntrustedError =>
  said instanceof UnreachableError || said instanceof UntrustedError;
