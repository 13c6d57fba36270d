import type { Readable } from 'node:stream';
import type { Static, TObject, TSchema } from 'typebox';
import type { JsonRoute, UploadRoute } from '../contract/route.ts';
import type { RouteName, Routes } from '../contract/routes.ts';
import type { SentFile } from './form-data.ts';

type QueryOf<R> = R extends { query?: infer Q extends TObject } ? Given<Static<Q>> : Record<string, never>;
/** What may be given of it; what is undefined is left out of the request. */
type Given<T> = { [K in keyof T]?: T[K] | undefined };
type BodyOf<R> = R extends { body?: infer B extends TSchema } ? Static<B> : undefined;
export type JsonName = {
  [K in RouteName]: Routes[K] extends JsonRoute<infer _Q, infer _B, infer _R, infer _D> ? K : never;
}[RouteName];
export type UploadName = {
  [K in RouteName]: Routes[K] extends UploadRoute<infer _Q, infer _R> ? K : never;
}[RouteName];

/** What is asked of one resource, and for how long. */
export interface RequestTarget {
  params?: Record<string, string>;
  signal?: AbortSignal;
  timeoutMs?: number;
}
export type CallInput<K extends RouteName> = RequestTarget & {
  query?: QueryOf<Routes[K]>;
  body?: BodyOf<Routes[K]>;
  /** The body as text, where numbers must stay as written. */
  text?: string;
  contentType?: string;
};
export type UploadInput<K extends UploadName> = RequestTarget & SentFile & { query?: QueryOf<Routes[K]> };

/** What is asked of whichever server answers. */
export interface Asked {
  method: string;
  /** Below the address of the server, with the query. */
  path: string;
  target?: RequestTarget;
  headers?: Record<string, string>;
  body?: string | Readable | undefined;
}

/** A path of the route table with its parameters, and its query. */
export function pathOf(template: string, input: { params?: Record<string, string>; query?: object }): string {
  const path = template.replace(/\{(\w+)\}/g, (_, key: string) =>
    encodeURIComponent(input.params?.[key] ?? ''),
  );
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined && value !== null) query.set(key, String(value));
  }
  return query.size > 0 ? `${path}?${query}` : path;
}
