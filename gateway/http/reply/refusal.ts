import { ClusterError, type ErrorCode } from '../../../machines/protocol/errors.ts';
import type { Header } from '../../transport/transport.ts';

export type { Header };

/** An error answer that carries headers beside its body. */
export class Refusal extends ClusterError {
  readonly headers: readonly Header[];

  constructor(code: ErrorCode, detail: string, headers: readonly Header[] = []) {
    super(code, detail);
    this.headers = headers;
  }
}

/** Headers that belong to a code wherever it comes from. `Retry-After` is in seconds. */
export function headersOf(error: ClusterError): readonly Header[] {
  if (error instanceof Refusal && error.headers.length > 0) return error.headers;
  if (error.code === 'unauthenticated') return [['WWW-Authenticate', 'Bearer']];
  if (error.code === 'store_unavailable' || error.code === 'overloaded' || error.code === 'standing_by')
    return [['Retry-After', '1']];
  if (error.code === 'draining' || error.code === 'objects_unavailable') return [['Retry-After', '5']];
  return [];
}

/** A stream was asked for in another way than as a WebSocket. */
export function upgradeRequired(): Refusal {
  const detail = 'this is a WebSocket stream: connect to it with a WebSocket client (ws://…)';
  return new Refusal('upgrade_required', detail, [
    ['Upgrade', 'websocket'],
    ['Sec-WebSocket-Version', '13'],
  ]);
}

/** The server has more under way than it can hold; trying again a little later helps. */
export function overloaded(what: string): ClusterError {
  return new ClusterError('overloaded', `${what}; nothing was accepted, try again`);
}

const OUT_OF_FILES = new Set(['EMFILE', 'ENFILE']);

/**
 * The error that clients see (docs/protocol.md#errors): without file descriptors `overloaded`, of a damaged store
 * `store_damaged`.
 */
export function toClusterError(error: unknown): unknown {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return error;
  if (OUT_OF_FILES.has(code))
    return overloaded('the server has as many files and connections open as it may');
  if (!/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return error;
  return new ClusterError(
    'store_damaged',
    'the store of this server is damaged; its owner restores a copy, or sees what is damaged with: jq-server check',
  );
}

/** More than `limit` bytes of JSON or YAML. */
export function bodyTooLarge(limit: number): ClusterError {
  return new ClusterError(
    'body_too_large',
    `the body exceeds the limit of ${limit} bytes (--max-request-mb)`,
  );
}

/** More than `limit` bytes of an artifact. */
export function artifactTooLarge(limit: number): ClusterError {
  const detail = `the artifact exceeds the limit of ${limit} bytes (--max-artifact-mb)`;
  return new ClusterError('artifact_too_large', detail);
}
