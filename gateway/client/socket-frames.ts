import { setTimeout as delay } from 'node:timers/promises';
import WebSocket from 'ws';
import type { ClusterClient } from './client.ts';
import { ResponseError, UntrustedError, unreachable } from './errors.ts';
import { ALONE_MS, AMONG_MS, onSilence } from './silence.ts';

/** Longer than the slowest refusal: what lasts beyond it was a connection. */
const HELD_MS = 15_000;
/** Frames that may wait for the reader before the socket is paused. */
const MOST_WAITING = 10_000;

/** How long to go on when the connection is lost. */
export interface ReconnectOptions {
  client: ClusterClient;
  signal?: AbortSignal;
  /** Told at each lost connection, with the seconds until the next try. */
  onRetry?: (why: string, seconds: number) => void;
  /** Give up after this many failed tries in a row. Default: never. */
  maxRetries?: number;
}

/**
 * Connects again and again, for as long as the reader goes on reading. Throws `ResponseError` when the server
 * refuses the stream, and `UntrustedError`.
 */
export async function* reconnecting<T>(
  { client, signal, onRetry, maxRetries }: ReconnectOptions,
  connect: () => AsyncGenerator<T>,
): AsyncGenerator<T, void, void> {
  let failures = 0;
  while (!signal?.aborted) {
    const since = performance.now();
    const { server } = client;
    try {
      for await (const frame of connect()) {
        failures = 0;
        yield frame;
      }
      if (signal?.aborted) return;
      throw unreachable(server, 'the stream ended');
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof UntrustedError) throw error;
      if (error instanceof ResponseError && !error.transient) throw error;
      client.leave(server, error);
      // A connection that held for a while without a frame was no failure.
      if (performance.now() - since > HELD_MS) failures = 0;
      failures++;
      if (maxRetries !== undefined && failures > maxRetries) throw error;
      const seconds = Math.min(5, 0.1 * 2 ** (failures - 1)) * (0.75 + Math.random() / 2);
      onRetry?.((error as Error).message, seconds);
      await delay(seconds * 1000, undefined, { signal }).catch(() => {});
    }
  }
}

/** Clients whose servers take the credential of a stream in its address alone (docs/protocol.md#streams). */
const inAddress = new WeakSet<ClusterClient>();

/**
 * The text frames of one connection, until it ends. The credential goes in a header, where no log keeps it; where the
 * server takes none there, in the address, as browsers have to send it.
 * @param silenceMs how long the server may say nothing, not even that it heard a ping
 */
export async function* socketFrames(
  client: ClusterClient,
  path: string,
  query: Record<string, string | undefined>,
  signal?: AbortSignal,
  silenceMs = client.hasOthers ? AMONG_MS : ALONE_MS,
): AsyncGenerator<string, void, void> {
  const { token } = client;
  const withToken = { ...query, token };
  if (token === undefined || inAddress.has(client)) {
    yield* framesOf(client, path, withToken, signal, silenceMs);
    return;
  }
  try {
    yield* framesOf(client, path, query, signal, silenceMs);
  } catch (error) {
    if (!(error instanceof ResponseError) || (error.status !== 401 && error.status !== 403)) throw error;
    for await (const text of framesOf(client, path, withToken, signal, silenceMs)) {
      inAddress.add(client);
      yield text;
    }
  }
}

/** Codes with which servers close a stream whose credential they do not take. */
const REFUSED: Readonly<Record<number, number>> = { 1008: 401, 4001: 401, 4401: 401, 4003: 403, 4403: 403 };

async function* framesOf(
  client: ClusterClient,
  path: string,
  query: Record<string, string | undefined>,
  signal: AbortSignal | undefined,
  silenceMs: number,
): AsyncGenerator<string, void, void> {
  const url = new URL(client.server.replace(/^http/, 'ws'));
  url.pathname = url.pathname.replace(/\/$/, '') + path;
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  const socket = new WebSocket(url, {
    headers: client.headers(),
    handshakeTimeout: 10_000,
    perMessageDeflate: false,
    ...(client.ca !== undefined && { ca: client.ca }),
  });

  const queue: string[] = [];
  let ended: { fault: Error | null } | null = null;
  let wake: () => void = () => {};
  const end = (fault: Error | null) => {
    ended ??= { fault };
    wake();
  };
  const silence = onSilence(socket, silenceMs, () =>
    end(unreachable(client.server, `no sign of life for ${silenceMs / 1000} s`)),
  );
  let isHeard = false;
  socket.on('message', (frame) => {
    isHeard = true;
    silence.heard();
    queue.push(String(frame));
    if (queue.length > MOST_WAITING) socket.pause();
    wake();
  });
  socket.on('unexpected-response', (_request, response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('end', () => end(refusedError(path, response.statusCode ?? 0, text)));
  });
  socket.on('error', (fault) => end(unreachable(client.server, fault)));
  socket.on('close', (code, reason) => {
    const status = isHeard ? undefined : REFUSED[code];
    if (status !== undefined) {
      const detail = String(reason) || `the server refused the stream (it closed it with ${code})`;
      end(new ResponseError(status, { detail }));
    } else end(code === 1000 ? null : unreachable(client.server, `closed with ${code}`));
  });
  const abort = () => {
    end(null);
    socket.terminate();
  };
  signal?.addEventListener('abort', abort, { once: true });
  try {
    for (;;) {
      for (let text = queue.shift(); text !== undefined; text = queue.shift()) yield text;
      if (socket.isPaused) {
        socket.resume();
        silence.heard();
      }
      const over = ended as { fault: Error | null } | null;
      if (over?.fault) throw over.fault;
      if (over) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    silence.stop();
    signal?.removeEventListener('abort', abort);
    socket.terminate();
  }
}

function refusedError(path: string, status: number, text: string): ResponseError {
  try {
    return new ResponseError(status, JSON.parse(text));
  } catch {
    return new ResponseError(
      status,
      status === 404 ? { detail: `this server does not know WS ${path}`, code: 'unknown_path' } : {},
    );
  }
}
