import { resolve } from 'node:path';
import { isPostgresAddress } from '../../actors/server/store/postgres/connect.ts';
import { usageError } from './exit.ts';
import { value } from './usage.ts';

export const storeWords = value(
  'STORE',
  'where rows are kept: postgres://[USER@]HOST[:PORT]/DATABASE, or sqlite:DIR with the state directory (sqlite)',
);

const SQLITE = 'sqlite:';

/**
 * What `--store` says; undefined: a file in the state directory.
 * @throws UsageError
 */
export function storeAddress(text: string | undefined, state: string): string | undefined {
  if (text === undefined) return undefined;
  if (isPostgresAddress(text)) return text;
  if (!text.startsWith(SQLITE)) throw usageError('--store: neither postgres://… nor sqlite:DIR');
  if (resolve(text.slice(SQLITE.length)) !== resolve(state))
    throw usageError('--store: a store of SQLite lies in the state directory, which --state names');
  return undefined;
}
