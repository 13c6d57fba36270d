import { STATUS_CODES } from 'node:http';

/** `404` as `404 Not Found`, the way the server writes it. */
export function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}
