import { StoreFault } from '../fault.ts';

/* What faults of PostgreSQL say (its manual, "PostgreSQL Error Codes"). */

/** Somebody may not do what they ask for. */
export const FORBIDDEN = '42501';

/** Five characters; faults of Node.js have others, or none. */
const SQLSTATE = /^[0-9A-Z]{5}$/;

/** The code of a fault of PostgreSQL; null of all others. */
export const stateOf = (fault: unknown): string | null => {
  const code = (fault as { code?: unknown } | null)?.code;
  return typeof code === 'string' && SQLSTATE.test(code) ? code : null;
};

/** Whether the connection has ended, or ends, so that nothing is known of what was sent last. */
export function breaksConnection(fault: unknown): boolean {
  if (fault instanceof StoreFault || fault instanceof TypeError || fault instanceof RangeError) return false;
  const state = stateOf(fault);
  const severity = (fault as { severity?: unknown } | null)?.severity;
  if (severity === 'FATAL' || severity === 'PANIC') return true;
  // Without a state it is none of PostgreSQL's: the socket, or the driver that notices its end.
  return state === null || state.startsWith('08') || /^57P0[123]/.test(state);
}

/** What a database says that starts or ends, has no room for another session, or takes no writes at present. */
const BUSY = /^(08|53300|57P0|25006)/;

/** Whether no database answers, or only that it cannot yet; of several hosts, all of them. */
export function isAway(fault: unknown): boolean {
  const { cause } = fault as { cause?: unknown };
  if (Array.isArray(cause)) return cause.every(isAway);
  const state = stateOf(fault);
  return state === null ? isPassing(fault) : BUSY.test(state);
}

/** Of a session on a standby, which may become one that takes writes. */
export const STANDBY = 'STANDBY';

const PASSING = new Set([
  STANDBY,
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Those of certificates have other codes. */
const isPassing = (fault: unknown): boolean =>
  PASSING.has((fault as { code?: string }).code ?? '') || /timeout|terminated/.test((fault as Error).message);

/**
 * Resources, limits, a conflict, an operator who intervenes, a standby, the system, corruption; and rights, schemas, tables, columns or
 * functions that are not there any more: what is asked for is always the same, so that no message is to blame.
 */
const OF_THE_SERVER = /^(53|40|55|57|58|XX|25006|42501|3F000|42P01|42703|42883)/;

/** Whether it is a fault of the store as a whole, whatever was asked for. */
export function isOfStore(fault: unknown): boolean {
  const state = stateOf(fault);
  return breaksConnection(fault) || (state !== null && OF_THE_SERVER.test(state));
}

/** The same fault, where it is one of the store as a whole as such. */
export function asStoreFault(fault: unknown): unknown {
  if (fault instanceof StoreFault || !isOfStore(fault)) return fault;
  return new StoreFault(`PostgreSQL: ${(fault as Error).message}`, { cause: fault });
}
