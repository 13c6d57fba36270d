import type { Static, TObject, TSchema } from 'typebox';
import type { RawJson } from '../../machines/json/raw.ts';
import type { ErrorCode } from '../../machines/protocol/errors.ts';
import type { Principal, Right } from '../../machines/protocol/rights.ts';
import type { Backend, Pieces } from '../backend.ts';

export const METHODS = ['get', 'post', 'patch', 'delete'] as const;
export type Method = (typeof METHODS)[number];

/** Whether requests of a method have a body. */
export const takesBody = (method: Method): boolean => method === 'post' || method === 'patch';

/** What the server is called and what it allows; the same for every request. */
export interface ServiceFacts {
  service: string;
  version: string;
  allowPythonJobs: boolean;
  /** The path below which proxies serve it, such as `/jq`; empty or absent: none. */
  basePath?: string;
}

/** A checked request, as a route's `run` gets it. */
export interface Call<Q, B> {
  principal: Principal;
  params: Record<string, string>;
  query: Q;
  /** The checked body, or what the route's `digest` made of it. */
  body: B;
  backend: Backend;
  facts: ServiceFacts;
  /** Aborted when the client goes away before the answer. */
  signal: AbortSignal;
  /** Says for the log what the request was about. */
  note(about: Readonly<Record<string, string | number>>): void;
}

/** The bytes that a multipart upload brought, already durable. */
export interface UploadedBlob {
  sha256: string;
  size_bytes: number;
  filename: string | null;
}

interface Common {
  method: Method;
  path: string;
  summary: string;
  /** The right a credential needs; null: no credential at all. */
  right: Right | null;
  tag: 'health' | 'jobs' | 'cluster' | 'artifacts' | 'workers' | 'tasks';
  query?: TObject;
  /** Whether it may be answered only when something happens, and who hangs up before that loses nothing. */
  waits?: true;
  /** Codes this route may answer with, beside those that every route of its kind shares. */
  errors?: readonly ErrorCode[];
}

/** An answer in text instead of JSON, for routes that say so with `text`. */
export class PlainText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An answer that is read while it is sent: JSON, or what its headers say. */
export class StreamedReply {
  readonly pieces: Pieces;
  readonly headers: readonly (readonly [string, string])[];
  constructor(pieces: Pieces, headers: readonly (readonly [string, string])[] = []) {
    this.pieces = pieces;
    this.headers = headers;
  }
}

/** JSON in, JSON out. The query of a JSON route arrives with its numbers parsed. */
export interface JsonRoute<
  Q extends TObject = TObject,
  B extends TSchema = TSchema,
  R extends TSchema = TSchema,
  D = Static<B>,
> extends Common {
  kind: 'json';
  query?: Q;
  body?: B;
  /** Also accepts `application/yaml`. */
  yaml?: boolean;
  /**
   * What the route needs of a checked body, and of its JSON text, where that is less than all of it. It is made where
   * the body is read, for a large one in another process, so it must be quick to copy: few objects, texts, numbers.
   */
  digest?(body: Static<B>, text: string): D;
  reply: R;
  /** Says when the answer is text of another type instead. */
  text?: string;
  /** The type of that text; `text/plain` where it is left out. */
  textType?: string;
  run(
    call: Call<Static<Q>, D>,
  ):
    | Promise<Static<R> | RawJson | PlainText | StreamedReply>
    | Static<R>
    | RawJson
    | PlainText
    | StreamedReply;
  /** Called when the answer could not be written because the client had gone. */
  undelivered?(call: Call<Static<Q>, D>, reply: unknown): void;
}

/** One part `file` of a multipart body, streamed into the blob store. */
export interface UploadRoute<Q extends TObject = TObject, R extends TSchema = TSchema> extends Common {
  kind: 'upload';
  query?: Q;
  reply: R;
  /** Runs before the first byte is taken. */
  admit?(call: Call<Static<Q>, undefined>): Promise<void>;
  run(call: Call<Static<Q>, undefined>, blob: UploadedBlob): Promise<Static<R>>;
}

/** Bytes out, with ranges and ETag. */
export interface DownloadRoute extends Common {
  kind: 'download';
  find(call: Call<unknown, undefined>): ReturnType<Backend['reads']['artifact']>;
}

/** A WebSocket stream: of events, history first, then live; or of what the actors do, beginning with how they are. */
export interface StreamRoute<Q extends TObject = TObject> extends Common {
  kind: 'stream';
  query?: Q;
  of: 'events' | 'inspection';
  /** The job whose events are sent, or the actor that is inspected; undefined for all. */
  scope(params: Record<string, string>, query: Static<Q>): string | undefined;
}

/** Text for programs, in the form that the request asks for. */
export interface TextRoute extends Common {
  kind: 'text';
  /** Media types of the forms. */
  types: readonly string[];
  /** @param accept the header of the request */
  run(backend: Backend, accept: string | undefined): Promise<{ type: string; text: string }>;
}

/** A file that is made of the code and is the same for everybody. */
export interface FileRoute extends Common {
  kind: 'file';
  /** What its answer says that it is. */
  type: string;
  /** @throws ClusterError `unknown_id` for one that there is not */
  find(params: Record<string, string>): Promise<{ name: string; bytes: Uint8Array; sha256: string }>;
}

/** A page for people. */
export interface PageRoute extends Common {
  kind: 'page';
}

export type Route = JsonRoute | UploadRoute | DownloadRoute | StreamRoute | TextRoute | FileRoute | PageRoute;

/** Declares a JSON route; only here are its types tied together. */
export function json<Q extends TObject, B extends TSchema, R extends TSchema, D = Static<B>>(
  route: Omit<JsonRoute<Q, B, R, D>, 'kind'>,
): JsonRoute<Q, B, R, D> {
  return { kind: 'json', ...route };
}

export function upload<Q extends TObject, R extends TSchema>(
  route: Omit<UploadRoute<Q, R>, 'kind'>,
): UploadRoute<Q, R> {
  return { kind: 'upload', ...route };
}

export const download = (route: Omit<DownloadRoute, 'kind'>): DownloadRoute => ({
  kind: 'download',
  ...route,
});
export function stream<Q extends TObject>(route: Omit<StreamRoute<Q>, 'kind'>): StreamRoute<Q> {
  return { kind: 'stream', ...route };
}

export const text = (route: Omit<TextRoute, 'kind'>): TextRoute => ({ kind: 'text', ...route });

export const file = (route: Omit<FileRoute, 'kind'>): FileRoute => ({ kind: 'file', ...route });

export const page = (route: Omit<PageRoute, 'kind'>): PageRoute => ({ kind: 'page', ...route });
