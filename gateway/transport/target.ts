/** A request's target in the form that servers see (RFC 9112, 3.2.1). */
export interface ParsedTarget {
  readonly path: string;
  readonly query: string;
  /** Of a target in absolute form, as proxies are sent: the host that counts, whatever the `Host` header says. */
  readonly host: string | undefined;
}

const ABSOLUTE = /^https?:\/\/([^/?]*)(.*)$/is;

export function targetOf(url: string): ParsedTarget {
  const [, host, rest = ''] = ABSOLUTE.exec(url) ?? [];
  const own = host === undefined ? url : rest;
  const mark = own.indexOf('?');
  return {
    path: (mark === -1 ? own : own.slice(0, mark)) || '/',
    query: mark === -1 ? '' : own.slice(mark + 1),
    host,
  };
}
