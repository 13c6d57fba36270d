import type { Static, TSchema } from 'typebox';
import { elements } from '../../machines/json/raw.ts';
import { understand } from '../../machines/schema/lenient.ts';
import { type RouteName, type Routes, routes } from '../contract/routes.ts';
import { InvalidResponseError } from './errors.ts';

export type ReplyOf<R> = R extends { reply: infer S extends TSchema } ? Static<S> : never;

/**
 * An answer of a server, which may say less than this one does: what it leaves out is filled in.
 * @throws InvalidResponseError when it lacks what nothing can be filled in for
 */
export function replyOf<K extends RouteName>(name: K, text: string): ReplyOf<Routes[K]> {
  const { method, path, reply } = routes[name] as unknown as { method: string; path: string; reply: TSchema };
  return readAs(reply, text, `the answer to ${method.toUpperCase()} ${path}`) as ReplyOf<Routes[K]>;
}

/**
 * The entries of an answer that is a list, as texts, which nobody has read yet.
 * @throws InvalidResponseError for one that is none
 */
export function entriesOf(name: RouteName, text: string): string[] {
  if (!/^\s*\[/.test(text)) replyOf(name, text);
  return elements(text);
}

/** The same for one entry of a list, or a frame of a stream. @param what it is, for people */
export function readAs<S extends TSchema>(schema: S, text: string, what: string): Static<S> {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    throw new InvalidResponseError(
      `${what} is not JSON: ${text.slice(0, 100).replace(/\s+/g, ' ').trim()}`,
      false,
    );
  }
  const isList = (schema as { type?: string }).type === 'array';
  if (isList !== Array.isArray(said) || typeof said !== 'object' || said === null) {
    throw new InvalidResponseError(`${what} is no ${isList ? 'list' : 'object'}`, true);
  }
  const { value, missing } = understand(schema, said);
  if (missing.length === 0) return value;
  throw new InvalidResponseError(
    `${what} lacks ${missing
      .slice(0, 3)
      .map((at) => `'${at.slice(1)}'`)
      .join(', ')}`,
    true,
  );
}
