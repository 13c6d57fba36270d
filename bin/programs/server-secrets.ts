import type { Logger } from 'pino';
import type { Receiver } from '../../actors/server/notify/post.ts';
import { readableByOthers } from '../../actors/shared/file-modes.ts';
import { webhookKey } from '../../gateway/auth/webhook-secret.ts';
import type { ServerConfig } from './server-config.ts';

/** Who is notified, and the way to read the secret again. */
export function receiverOf({
  url,
  secretFile,
}: NonNullable<ServerConfig['notify']>): Receiver & { renew(): void } {
  let key = webhookKey(secretFile);
  return {
    url,
    get key() {
      return key;
    },
    renew() {
      key = webhookKey(secretFile);
    },
  };
}

/** What of a running server is read from its files again. */
export interface Renewable {
  /** What it is, for the log. */
  what: string;
  renew(): void | Promise<void>;
}

/**
 * Reads all of it again; what goes wrong with one leaves the others alone.
 * @throws the first fault, once everything has been tried
 */
export async function renewAll(parts: readonly Renewable[], log: Logger): Promise<void> {
  const faults: Error[] = [];
  for (const { what, renew } of parts) {
    try {
      await renew();
      log.info({ audit: 'reload' }, `${what}: read again`);
    } catch (error) {
      const { message: why } = error as Error;
      log.error({ audit: 'reload', why }, `${what}: not read again, what was before stays`);
      faults.push(error as Error);
    }
  }
  if (faults[0]) throw faults[0];
}

/** Has the log name each file of a secret that others than its owner can read. */
export async function warnOfReaders(
  { authFile, tokenFile, tls, notify }: ServerConfig,
  log: Logger,
): Promise<void> {
  const secrets = {
    'auth file': authFile,
    'token file': tokenFile,
    'key of the certificate': tls?.key,
    'secret of notifications': notify?.secretFile,
  };
  for (const [what, file] of Object.entries(secrets)) {
    const mode = file === undefined ? null : await readableByOthers(file);
    if (mode !== null)
      log.warn({ file, mode }, `others can read the ${what} (mode ${mode}): chmod 600 ${file}`);
  }
}
