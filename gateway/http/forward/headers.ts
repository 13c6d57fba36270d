import type { IncomingMessage } from 'node:http';
import { isChunked } from '../../transport/head.ts';
import type { Header } from '../reply/refusal.ts';
import type { Exchange } from '../request/exchange.ts';

/** Marks what another server has sent on: it is not sent on once more. */
export const FORWARDED = 'x-cluster-forwarded';

/** Of one connection alone (RFC 9110, 7.6.1). */
const OF_CONNECTION = [
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
];
/** Under which name, and from which page, this server was asked, which it has judged itself. */
const OF_ORIGIN = ['host', 'origin', 'x-forwarded-host', 'x-forwarded-proto'];
const NOT_SENT: ReadonlySet<string> = new Set([...OF_CONNECTION, ...OF_ORIGIN]);

/** Every server says these for itself. */
const OF_SERVER = ['date', 'server', 'uwebsockets', 'vary', 'content-length'];
const NOT_PASSED: ReadonlySet<string> = new Set([...OF_CONNECTION, ...OF_SERVER]);

/**
 * What the server that leads is told: all that the client said, and by whom it comes. Where the body ends is said for every
 * method, or what is a body here would be the next request there.
 */
export function headersFor({ head, id, incoming }: Exchange, hasBody: boolean): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(head.headers))
    if (value !== undefined && !NOT_SENT.has(name)) headers[name] = value;
  if (!hasBody || isChunked(head)) delete headers['content-length'];
  if (hasBody && isChunked(head)) headers['transfer-encoding'] = 'chunked';
  const before = head.headers['x-forwarded-for'];
  const clients = [before, incoming.peer].filter((one) => one !== undefined);
  if (clients.length > 0) headers['x-forwarded-for'] = clients.join(', ');
  return { ...headers, 'x-request-id': id, [FORWARDED]: '1' };
}

/** What of an answer's head the client is told. @param own names of headers that this server says itself, in lower case */
export function headersOf({ rawHeaders }: IncomingMessage, own: ReadonlySet<string>): Header[] {
  const headers: Header[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name, value] = rawHeaders.slice(i, i + 2) as [string, string];
    const low = name.toLowerCase();
    if (!NOT_PASSED.has(low) && !own.has(low) && !low.startsWith('access-control-'))
      headers.push([name, value]);
  }
  return headers;
}
