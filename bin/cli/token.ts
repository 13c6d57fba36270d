import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readableByOthers } from '../../actors/shared/file-modes.ts';
import { readTokenFile } from '../../gateway/auth/token-file.ts';
import { plain } from '../terminal/plain.ts';
import { usageError } from './exit.ts';
import { value } from './usage.ts';

type Env = Record<string, string | undefined>;

/** What a program was told of its credential on its command line. */
export interface TokenFlags {
  token: string | undefined;
  tokenFile: string | undefined;
}

/** Where the credential comes from: the text itself, or the path of a file that holds it. */
export interface TokenSource {
  token?: string;
  file?: string;
}

/** The credential of a unit of systemd, by `LoadCredential=jq-token:…`. */
const CREDENTIAL = 'jq-token';

export const tokenFileWords = value('FILE', 'file that holds the credential alone');

/**
 * Flag, else environment, else what systemd has laid out for the unit (docs/operations.md#credentials); an empty variable
 * counts as absent.
 * @throws CliError for what no header can carry, and for two flags that say the same
 */
export function tokenSource({ token, tokenFile }: TokenFlags, env: Env): TokenSource {
  if (token !== undefined && tokenFile !== undefined) {
    throw usageError('--token and --token-file: give one of them');
  }
  if (tokenFile !== undefined) {
    if (tokenFile.trim() === '') throw usageError('--token-file: the file has no name');
    return { file: tokenFile };
  }
  const text = token ?? (env.JQ_TOKEN || undefined);
  if (text !== undefined) return { token: checked(text, token === undefined ? 'JQ_TOKEN' : '--token') };
  const folder = env.CREDENTIALS_DIRECTORY;
  const file = folder ? join(folder, CREDENTIAL) : undefined;
  return file !== undefined && existsSync(file) ? { file } : {};
}

/** The credential itself. @throws CliError, or StartError for a file without one */
export function tokenOf(flags: TokenFlags, env: Env): string | undefined {
  const { token, file } = tokenSource(flags, env);
  return file === undefined ? token : readTokenFile(file);
}

/** A sentence about a file of `--token-file` that others can read; undefined where all is well. */
export async function tokenFileWarning(tokenFile: string | undefined): Promise<string | undefined> {
  const mode = tokenFile === undefined ? null : await readableByOthers(tokenFile);
  if (mode === null || tokenFile === undefined) return undefined;
  const path = plain(tokenFile);
  return `others can read the token file (mode ${mode}): chmod 600 ${path}`;
}

function checked(token: string, source: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw usageError(`${source}: the token is empty or holds spaces or characters beyond ASCII`);
}
