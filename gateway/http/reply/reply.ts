import { compose, RawJson } from '../../../machines/json/raw.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { errorBody, statusOf } from '../../contract/errors.ts';
import { PlainText, StreamedReply } from '../../contract/route.ts';
import type { Exchange } from '../request/exchange.ts';
import { type Header, headersOf } from './refusal.ts';
import { sendPieces } from './send-pieces.ts';

const JSON_HEADERS: readonly Header[] = [
  ['Content-Type', 'application/json'],
  ['Cache-Control', 'no-store'],
];

const TEXT_HEADERS: readonly Header[] = [
  ['Content-Type', 'text/plain; charset=utf-8'],
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
];

/**
 * Answers 200 with JSON, or with text where the route says so; what is not long, at once. False when the client had
 * gone.
 */
export function reply(exchange: Exchange, value: unknown): boolean | Promise<boolean> {
  return value instanceof StreamedReply
    ? sendPieces(exchange, headersFor(value), value.pieces)
    : replyJson(exchange, value);
}

/** The answer's own headers stand in the place of those that JSON has. */
function headersFor({ headers }: StreamedReply): readonly Header[] {
  const named = new Set(headers.map(([name]) => name));
  return [...headers, ...JSON_HEADERS.filter(([name]) => !named.has(name))];
}

/** The same for an answer that is whole. */
export function replyJson(exchange: Exchange, value: unknown): boolean {
  if (value instanceof PlainText) return exchange.answer(200, TEXT_HEADERS, value.text);
  return exchange.answer(200, JSON_HEADERS, toJson(value));
}

/** The text of a reply. Pieces of raw JSON, wherever they stand in it, keep their digits. */
export function toJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  return holdsRaw(value) ? compose(value) : JSON.stringify(value ?? null);
}

/** A look that builds nothing: `JSON.stringify` is several times faster than `compose` on plain replies. */
function holdsRaw(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof RawJson) return true;
  if (Array.isArray(value)) return value.some(holdsRaw);
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === 'object' && member !== null && holdsRaw(member)) return true;
  }
  return false;
}

/**
 * Answers with an error (docs/protocol.md#errors). What is not a `ClusterError` is told as `internal`, without detail.
 */
export function replyError(exchange: Exchange, fault: unknown): void {
  const error =
    fault instanceof ClusterError
      ? fault
      : new ClusterError('internal', 'the server failed on this request; its log says why');
  const headers: readonly Header[] = [...JSON_HEADERS, ...headersOf(error), ['X-Request-Id', exchange.id]];
  exchange.answer(statusOf(error), headers, JSON.stringify(errorBody(error)));
}
