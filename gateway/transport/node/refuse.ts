import type { Duplex } from 'node:stream';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { errorBody } from '../../contract/errors.ts';
import { statusLine } from '../status.ts';
import type { Header } from '../transport.ts';
import { HEAD_TIMEOUT, MAX_HEAD, MAX_HEADERS } from './limits.ts';

/** Answers for requests that never become one. */
const REFUSALS: Record<string, [number, string]> = {
  HPE_HEADER_OVERFLOW: [431, `the head of the request is larger than ${MAX_HEAD / 1024} KiB`],
  TOO_MANY_HEADERS: [431, `the request has more than ${MAX_HEADERS} headers`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, `the request did not come within ${HEAD_TIMEOUT / 1000} seconds`],
  EXPECTATION: [417, "the server knows no expectation but '100-continue'"],
};

/** Tells what is wrong and closes the connection, if anything can still be told on it. */
export function refuse(
  socket: Duplex & { bytesRead?: number },
  headers: readonly Header[],
  code: string,
  reason?: string,
): void {
  const [status, detail] = REFUSALS[code] ?? [
    400,
    `the request cannot be read${reason ? `: ${reason}` : ''}`,
  ];
  const begun = (socket as { _httpMessage?: { headersSent: boolean } })._httpMessage?.headersSent ?? false;
  // A client that connects and leaves without sending anything has asked for nothing.
  if (!socket.writable || begun || !socket.bytesRead) return void socket.destroy();
  const body = JSON.stringify(errorBody(new ClusterError('malformed_request', detail)));
  const all: Header[] = [
    ...headers,
    ['Content-Type', 'application/json'],
    ['Cache-Control', 'no-store'],
    ['Content-Length', String(Buffer.byteLength(body))],
    ['Connection', 'close'],
  ];
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${statusLine(status)}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}
