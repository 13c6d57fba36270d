import type { HttpRequest } from 'uWebSockets.js';

/** What a request says before its body. A copy, since the server's own object dies with the first await. */
export interface RequestHead {
  /** Upper case, such as `POST`. */
  readonly method: string;
  /** As sent, percent-encoded, without the query. */
  readonly path: string;
  /** The raw query, without `?`. */
  readonly query: string;
  /** By lower-case name; of a repeated header, the first. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export function readHead(req: HttpRequest): RequestHead {
  const headers: Record<string, string> = Object.create(null);
  req.forEach((name, value) => {
    headers[name] ??= value;
  });
  return {
    method: req.getMethod().toUpperCase(),
    path: req.getUrl(),
    query: (req.getQuery() as string | undefined) ?? '',
    headers,
  };
}

/** The length that the client declares for its body, in bytes; 0 when it declares none. */
export function declaredLength(head: RequestHead): number {
  return Number(head.headers['content-length'] ?? 0) || 0;
}

/** Whether the body comes in chunks, so that its length shows only while it is read. */
export function isChunked(head: RequestHead): boolean {
  return head.headers['transfer-encoding'] !== undefined;
}
