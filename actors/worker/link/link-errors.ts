import {
  InvalidResponseError,
  ResponseError,
  UnreachableError,
  UntrustedError,
} from '../../../gateway/client/errors.ts';
import type { LinkError, Registration } from '../../../machines/agent/types.ts';

/** What a fault of a request means for the one who made it. */
export type RequestErrorKind =
  /** The server is away, busy or out of order: the same request may succeed later. */
  | 'transient'
  /** This program is refused: its credential, its rights or its protocol; or it refuses the server. Only a person can mend it. */
  | 'refused'
  /** The server will answer the same for ever. */
  | 'final'
  /** Not an answer at all: a fault of this program or this machine. */
  | 'local';

const SILENT = new Set([408, 425, 429]);

export function kindOf(error: unknown): RequestErrorKind {
  if (error instanceof UnreachableError) return 'transient';
  if (error instanceof UntrustedError) return 'refused';
  // An answer that is not JSON comes from something between here and the server.
  if (error instanceof InvalidResponseError) return error.isJson ? 'final' : 'transient';
  if (!(error instanceof ResponseError)) return 'local';
  if (error.status >= 500 || SILENT.has(error.status)) return 'transient';
  if (error.status === 401 || error.status === 426) return 'refused';
  if (error.status === 403) return error.code === 'not_owner' ? 'final' : 'refused';
  return 'final';
}

/**
 * The link error that the agent's statechart decides on. On heartbeats and leases a 404 is about the worker
 * (docs/protocol.md#workers-and-leases).
 * @param registered as what the request was made
 */
export function linkErrorOf(error: unknown, registered?: Pick<Registration, 'session'>): LinkError {
  const detail = error instanceof Error ? error.message : String(error);
  const retryAfter = error instanceof ResponseError ? error.retryAfter : undefined;
  const kind = kindOf(error);
  const forgotten = error instanceof ResponseError && (error.status === 404 || error.code === 'not_owner');
  if (forgotten) return { kind: 'unknown_worker', detail, cause: error };
  if (error instanceof ResponseError && error.code === 'superseded') {
    return { kind: 'superseded', detail, session: registered?.session, cause: error };
  }
  if (kind === 'refused' || kind === 'final') return { kind: 'refused', detail, cause: error };
  return { kind: 'unreachable', detail, retryAfter, cause: error };
}

export const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';
