/** What a request says before its body. */
export interface RequestHead {
  /** Upper case, such as `POST`. */
  readonly method: string;
  /** As sent, percent-encoded, without the query. */
  readonly path: string;
  /** The raw query, without `?`. */
  readonly query: string;
  /** By lower-case name; of a repeated header, the first, and of X-Forwarded-For all of them in their order. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** What can be read in two ways, so that a proxy before this server may have read it otherwise. */
  readonly ambiguity: string | undefined;
}

/** Headers that decide where a request ends, whom it is for and who asks. */
const DECISIVE = new Set(['host', 'content-length', 'transfer-encoding', 'authorization']);

/** Gathers the headers of a request in the order in which they came. */
export class HeadReader {
  readonly headers: Record<string, string> = Object.create(null);
  #ambiguity: string | undefined;

  /** @param name in lower case */
  add(name: string, value: string): void {
    const first = this.headers[name];
    if (first === undefined) this.headers[name] = value;
    // Each proxy may write a line of its own, and the last one counts most.
    else if (name === 'x-forwarded-for') this.headers[name] = `${first},${value}`;
    else if (first !== value && DECISIVE.has(name)) this.#ambiguity ??= `more than one '${name}' header`;
  }

  head(method: string, path: string, query: string): RequestHead {
    const encoding = this.headers['transfer-encoding'];
    // Whatever else ends in `chunked` is taken for chunks too, and no other encoding is undone.
    if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
      this.#ambiguity ??= "a 'transfer-encoding' other than chunked";
    }
    return { method, path, query, headers: this.headers, ambiguity: this.#ambiguity };
  }
}

/** The length that the client declares for its body, in bytes; 0 when it declares none. */
export function declaredLength(head: RequestHead): number {
  return Number(head.headers['content-length'] ?? 0) || 0;
}

/** Whether the body comes in chunks, so that its length shows only while it is read. */
export function isChunked(head: RequestHead): boolean {
  return head.headers['transfer-encoding'] !== undefined;
}
