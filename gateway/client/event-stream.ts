import { setTimeout as delay } from 'node:timers/promises';
import WebSocket from 'ws';
import type { EventView } from '../../machines/schema/views.ts';
import type { ClusterClient } from './client.ts';
import { AnsweredError, UnreachableError } from './errors.ts';

/** Longer than the slowest refusal: what lasts beyond it was a connection. */
const HELD_MS = 15_000;

export interface StreamOptions {
  client: ClusterClient;
  /** One job's events; absent: all of them. */
  jobId?: string;
  /** Only events after this id; absent: as the server begins. */
  afterId?: number;
  signal?: AbortSignal;
  /** Told at each lost connection, with the seconds until the next try. */
  onRetry?: (why: string, seconds: number) => void;
  /** Give up after this many failed tries in a row. Default: never. */
  maxRetries?: number;
}

/** An event, and its text as the server wrote it. */
export interface EventFrame {
  event: EventView;
  text: string;
}

/** Like `eventFrames`, for those who need no text. */
export async function* eventStream(options: StreamOptions): AsyncGenerator<EventView, void, void> {
  for await (const { event } of eventFrames(options)) yield event;
}

/**
 * Events in order, for as long as the reader goes on reading. A lost connection is taken up again behind the
 * last event seen, so none is missed or doubled. Throws `AnsweredError` when the server refuses the stream.
 */
export async function* eventFrames(options: StreamOptions): AsyncGenerator<EventFrame, void, void> {
  let afterId = options.afterId;
  let failures = 0;
  while (!options.signal?.aborted) {
    const since = performance.now();
    try {
      for await (const frame of connect(options, afterId)) {
        failures = 0;
        afterId = frame.event.id;
        yield frame;
      }
      if (options.signal?.aborted) return;
      throw new UnreachableError(options.client.server, 'the stream ended');
    } catch (fault) {
      if (options.signal?.aborted) return;
      if (fault instanceof AnsweredError && !fault.transient) throw fault;
      // A connection that held for a while without an event was no failure.
      if (performance.now() - since > HELD_MS) failures = 0;
      failures++;
      if (options.maxRetries !== undefined && failures > options.maxRetries) throw fault;
      const seconds = Math.min(5, 0.1 * 2 ** (failures - 1)) * (0.75 + Math.random() / 2);
      options.onRetry?.((fault as Error).message, seconds);
      await delay(seconds * 1000, undefined, { signal: options.signal }).catch(() => {});
    }
  }
}

/** One connection: yields until it ends. */
async function* connect(options: StreamOptions, afterId: number | undefined): AsyncGenerator<EventFrame> {
  const { client, jobId, signal } = options;
  const url = new URL(client.server.replace(/^http/, 'ws'));
  const scope =
    jobId === undefined ? '/v1/events/stream' : `/v1/jobs/${encodeURIComponent(jobId)}/events/stream`;
  url.pathname = url.pathname.replace(/\/$/, '') + scope;
  if (afterId !== undefined) url.searchParams.set('after_id', String(afterId));
  // A program can send the credential as a header, where no log keeps it.
  const socket = new WebSocket(url, {
    headers: client.headers(),
    handshakeTimeout: 10_000,
    perMessageDeflate: false,
  });

  const queue: string[] = [];
  let ended: { fault: Error | null } | null = null;
  let wake: () => void = () => {};
  const end = (fault: Error | null) => {
    ended ??= { fault };
    wake();
  };
  socket.on('message', (frame) => {
    queue.push(String(frame));
    if (queue.length > 10_000) socket.pause();
    wake();
  });
  socket.on('unexpected-response', (_request, response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('end', () => end(refusal(response.statusCode ?? 0, text)));
  });
  socket.on('error', (fault) => end(new UnreachableError(client.server, fault)));
  socket.on('close', (code) =>
    end(code === 1000 ? null : new UnreachableError(client.server, `closed with ${code}`)),
  );
  const abort = () => {
    end(null);
    socket.terminate();
  };
  signal?.addEventListener('abort', abort, { once: true });
  try {
    for (;;) {
      for (let text = queue.shift(); text !== undefined; text = queue.shift()) {
        yield { event: JSON.parse(text) as EventView, text };
      }
      if (socket.isPaused) socket.resume();
      const over = ended as { fault: Error | null } | null;
      if (over?.fault) throw over.fault;
      if (over) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal?.removeEventListener('abort', abort);
    socket.terminate();
  }
}

function refusal(status: number, text: string): AnsweredError {
  try {
    return new AnsweredError(status, JSON.parse(text));
  } catch {
    return new AnsweredError(status, {});
  }
}
