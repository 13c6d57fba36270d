import { StartError } from '../../../machines/protocol/start-error.ts';

/** Whether a fault says that pages of a store are not as SQLite wrote them. */
export function isDamage(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^SQLITE_(CORRUPT|NOTADB)/.test(code);
}

/** The way out of a damaged store, for whoever starts the server or reads its log. */
export const wayOut = (stateDir: string): string =>
  `restore ${stateDir} from a copy; what is damaged tells: jq-server check --state ${stateDir}`;

export const storeDamaged = (stateDir: string, what: string): StartError =>
  new StartError('store_unreadable', `the store in ${stateDir} is damaged (${what}); ${wayOut(stateDir)}`);

/** @param flag what names the directory in which there is none */
export function noStore(directory: string, flag: string): StartError {
  const elsewhere =
    flag === '--state' ? '; one in PostgreSQL has tools of its own: pg_dump, pg_amcheck, vacuum' : '';
  return new StartError('store_unreadable', `there is no store in ${directory}; see ${flag}${elsewhere}`);
}
