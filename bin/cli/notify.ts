import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { usageError } from './exit.ts';

/** The secret of a unit of systemd, by `LoadCredential=jq-notify-secret:…`. */
const CREDENTIAL = 'jq-notify-secret';

/**
 * Who is told of the ends of jobs, and the file of the secret that requests are signed with: that of the flag, else what
 * systemd has laid out for the unit (docs/operations.md#notifications). Undefined where nobody is told.
 * @throws CliError for an address that cannot be asked, and where there is no secret
 */
export function notifyTarget(
  { notify: url, notifySecretFile }: { notify: string | undefined; notifySecretFile: string | undefined },
  { CREDENTIALS_DIRECTORY: folder }: Record<string, string | undefined>,
): { url: string; secretFile: string } | undefined {
  if (url === undefined) {
    if (notifySecretFile === undefined) return undefined;
    throw usageError('--notify-secret-file: is of no use without --notify');
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:')
    throw usageError(`--notify: '${url}' is no address that begins with http:// or https://`);
  // `fetch` refuses them, and every list of processes would show them.
  if (parsed.username !== '' || parsed.password !== '')
    throw usageError('--notify: the address must not hold a name or a password');
  const laidOut = folder ? join(folder, CREDENTIAL) : undefined;
  const secretFile = notifySecretFile ?? (laidOut && existsSync(laidOut) ? laidOut : undefined);
  if (secretFile === undefined || secretFile.trim() === '')
    throw usageError('--notify: needs a secret to sign with; name its file: --notify-secret-file FILE');
  return { url, secretFile };
}
