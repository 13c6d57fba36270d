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
  /** What can be read in two ways, so that a proxy before this server may have read it otherwise. */
  readonly ambiguity: string | undefined;
}

/** Headers that decide where a request ends, whom it is for and who asks. */
const DECISIVE = new Set(['host', 'content-length', 'transfer-encoding', 'authorization']);

export function readHead(req: HttpRequest): RequestHead {
  const headers: Record<string, string> = Object.create(null);
  let ambiguity: string | undefined;
  req.forEach((name, value) => {
    const first = headers[name];
    if (first === undefined) headers[name] = value;
    else if (first !== value && DECISIVE.has(name)) ambiguity ??= `more than one '${name}' header`;
  });
  const encoding = headers['transfer-encoding'];
  // The library takes whatever ends in `chunked` for chunks and undoes no other encoding.
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
    ambiguity ??= "a 'transfer-encoding' other than chunked";
  }
  return {
    method: req.getMethod().toUpperCase(),
    path: req.getUrl(),
    query: (req.getQuery() as string | undefined) ?? '',
    headers,
    ambiguity,
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
