import { StoreFault } from '../fault.ts';

/* What faults of PostgreSQL say (its manual, "PostgreSQL Error Codes"). */

/** Five characters; faults of Node.js have others, or none. */
const SQLSTATE = /^[0-9A-Z]{5}$/;

const stateOf = (fault: unknown): string | null => {
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

/** Resources, limits, a conflict, an operator who intervenes, a standby, the system, corruption. */
const OF_THE_SERVER = /^(53|40|55|57|58|XX|25006)/;

/** The same fault, where it is one of the store as a whole as such. */
export function asStoreFault(fault: unknown): unknown {
  if (fault instanceof StoreFault) return fault;
  const state = stateOf(fault);
  if (!breaksConnection(fault) && (state === null || !OF_THE_SERVER.test(state))) return fault;
  return new StoreFault(`PostgreSQL: ${(fault as Error).message}`, { cause: fault });
}
