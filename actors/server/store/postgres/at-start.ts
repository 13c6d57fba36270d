import { whyUntrusted } from '../../../../gateway/client/errors.ts';
import { ClusterError } from '../../../../machines/protocol/errors.ts';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import { StoreFault } from '../fault.ts';
import { isAway, stateOf } from './faults.ts';

/** What fails at the start, in words, and what to do. @param place for people @throws StartError */
export async function started<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StartError ? error : startError(place, error);
  }
}

/** The same of what comes later, which need not be of the database. */
export function faultAtStart(place: string, fault: unknown): unknown {
  const isOfStore =
    fault instanceof StoreFault || (fault instanceof ClusterError && fault.code === 'store_unavailable');
  const cause = isOfStore ? ((fault as Error).cause ?? fault) : fault;
  return isOfStore || stateOf(cause) !== null ? startError(place, cause) : fault;
}

function startError(place: string, fault: unknown): StartError {
  const code = isAway(fault) ? 'store_away' : 'store_unreadable';
  const advice = adviceOn(fault);
  return new StartError(code, `cannot use the store ${place} (${wordsOf(fault)})${advice && `; ${advice}`}`);
}

/** Of a certificate, with what is set where it should have been good. */
function wordsOf(fault: unknown): string {
  const why = whyUntrusted(fault);
  if (why === undefined) return (fault as Error).message;
  return `${why}; PGSSLROOTCERT or sslrootcert names the file of who vouches for it, PGSSLMODE or sslmode says how strict that is`;
}

const COME_IN =
  'name its role in the address or PGUSER, and the password in ~/.pgpass or PGPASSWORD; who may come from where, pg_hba.conf of the database says';

/** What is to be done about a fault (manual of PostgreSQL, "PostgreSQL Error Codes"). */
const ADVICE: Readonly<Record<string, string>> = {
  '3D000': 'make it, as by: createdb --encoding=UTF8 NAME; or name another one with --store',
  '28000': COME_IN,
  '28P01': COME_IN,
  '42501':
    'as the owner of its tables: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO … (USAGE of the schema as well)',
  '53300':
    'raise max_connections of the database, or the limit of the role or the database: a server needs 16 sessions',
  '25006': 'default_transaction_read_only is on: set it to off, as by ALTER DATABASE … SET',
};

/** Of several hosts, what is to be done about all of them; empty where that is not known. */
function adviceOn(fault: unknown): string {
  const { cause, message } = fault as Error;
  if (Array.isArray(cause)) {
    const [first = '', ...others] = new Set(cause.map(adviceOn));
    return others.length === 0 ? first : '';
  }
  const state = stateOf(fault);
  if (state !== null) return ADVICE[state] ?? '';
  return /password must be/.test(message) ? `it asks for a password: ${COME_IN}` : '';
}
