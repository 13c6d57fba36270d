import type { Message } from '../../../gateway/messages.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { DeadlineKey } from '../core.ts';

/** A message with the way to answer it. */
export interface MessageEnvelope {
  kind: 'message';
  message: Message;
  resolve(reply: unknown): void;
  reject(error: unknown): void;
  /** Monotonic second of its arrival. */
  arrived: number;
}

/** What the mailbox holds. */
export type Envelope =
  | MessageEnvelope
  /** A deadline that has passed. */
  | { kind: 'deadline'; key: DeadlineKey }
  /** Look at all waiting leases again. */
  | { kind: 'wake' };

/** SQLite's words for a disk that fails: nothing about the statement, so trying again may help; and those of other stores. */
const STORE_FAULTS = new Set([
  'STORE_FAULT',
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
  'SQLITE_PROTOCOL',
  'SQLITE_NOMEM',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
]);

/** Whether a fault is the store's as a whole, not one message's. */
export function isStoreFault(error: unknown): boolean {
  const code = (error as { code?: string } | null)?.code;
  return typeof code === 'string' && STORE_FAULTS.has(code);
}

export const storeUnavailable = (): ClusterError =>
  new ClusterError(
    'store_unavailable',
    'the store cannot commit at the moment; nothing was accepted, try again',
  );

/** The server goes down while it is not known what became of it: so nobody is told that nothing was accepted. */
export const outcomeUnknown = (): ClusterError =>
  new ClusterError(
    'internal',
    'the server ends before it is known whether this was accepted; look whether it was, and try again if not',
  );

export const overloaded = (): ClusterError =>
  new ClusterError('overloaded', 'too many requests wait for the store; nothing was accepted, try again');

export const draining = (): ClusterError =>
  new ClusterError('draining', 'the server is shutting down; try again when it is back');
