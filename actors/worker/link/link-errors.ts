import { InvalidResponseError, ResponseError, UnreachableError } from '../../../gateway/client/errors.ts';
import type { LinkError, Registration } from '../../../machines/agent/types.ts';

/** What a fault of a request means for the one who made it. */
export type RequestErrorKind =
  /** The server is away, busy or out of order: the same request may succeed later. */
  | 'transient'
  /** This program is refused: its credential, its rights or its protocol. Only a person can mend it. */
  | 'refused'
  /** The server will answer the same for ever. */
  | 'final'
  /** Not an answer at all: a fault of this program or this machine. */
  | 'local';

const SILENT = new Set([408, 425, 429]);

export function kindOf(fault: unknown): RequestErrorKind {
  if (fault instanceof UnreachableError) return 'transient';
  // An answer that is not JSON comes from something between here and the server.
  if (fault instanceof InvalidResponseError) return fault.isJson ? 'final' : 'transient';
  if (!(fault instanceof ResponseError)) return 'local';
  if (fault.status >= 500 || SILENT.has(fault.status)) return 'transient';
  if (fault.status === 401 || fault.status === 426) return 'refused';
  if (fault.status === 403) return fault.code === 'not_owner' ? 'final' : 'refused';
  return 'final';
}

/**
 * The link error that the agent's statechart decides on. On heartbeats and leases a 404 is about the worker
 * (docs/protocol.md#workers-and-leases).
 * @param registered as what the request was made
 */
export function linkErrorOf(fault: unknown, registered?: Pick<Registration, 'session'>): LinkError {
  const detail = fault instanceof Error ? fault.message : String(fault);
  const retryAfter = fault instanceof ResponseError ? fault.retryAfter : undefined;
  const kind = kindOf(fault);
  const forgotten = fault instanceof ResponseError && (fault.status === 404 || fault.code === 'not_owner');
  if (forgotten) return { kind: 'unknown_worker', detail, cause: fault };
  if (fault instanceof ResponseError && fault.code === 'superseded') {
    return { kind: 'superseded', detail, session: registered?.session, cause: fault };
  }
  if (kind === 'refused' || kind === 'final') return { kind: 'refused', detail, cause: fault };
  return { kind: 'unreachable', detail, retryAfter, cause: fault };
}

export const isAbort = (fault: unknown): boolean => fault instanceof Error && fault.name === 'AbortError';
