import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';

const CONNECT_MS = 5_000;
/** Shorter than servers keep idle connections, so that a request seldom meets one that is being closed. */
const IDLE_MS = 4_000;
const CONNECTIONS = 64;

export interface Get {
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Milliseconds without a byte after which the answer is given up; waiting for a slow reader does not count. */
  silenceMs: number;
  /** The same before anything has come, where that is less. */
  firstMs?: number | undefined;
}

/**
 * Gets what is too large for memory, by Node's own HTTP client. undici 7 ends the whole process, by an assertion
 * that nobody can catch, when a server closes the connection behind an answer that its reader has paused; all
 * large downloads are read at the pace of a disk, so they are paused all the time.
 */
export class HttpGetter {
  readonly #agents: Record<'http:' | 'https:', Agent>;

  /**
   * @param keepAlive connections serve several requests, for many of them to one server
   * @param ca certificates in PEM, the only ones that vouch for servers; absent: those that Node.js knows
   */
  constructor({ keepAlive = false, ca }: { keepAlive?: boolean; ca?: string | undefined } = {}) {
    const options = { keepAlive, maxSockets: CONNECTIONS, timeout: IDLE_MS };
    const secure = new SecureAgent({ ...options, ...(ca !== undefined && { ca }) });
    this.#agents = { 'http:': new Agent(options), 'https:': secure };
  }

  /** The answer with its body, which the caller reads or destroys. Rejects when no answer comes. */
  async get(url: URL, get: Get): Promise<IncomingMessage> {
    for (;;) {
      const sent = this.#send(url, get);
      try {
        return await answerOf(sent, get);
      } catch (error) {
        // The server closed the idle connection just as the request went out; a new one will do.
        const stale = sent.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
        if (!stale || get.signal?.aborted) throw error;
      }
    }
  }

  /**
   * Sends what is read while it is sent, over a connection of its own: under one that was idle, it could be closed.
   * @returns the status of the answer. Rejects when none comes
   */
  async put(url: URL, body: Readable, put: Get): Promise<number> {
    const sent = this.#send(url, put, { method: 'PUT', agent: false });
    body.on('error', (fault) => sent.destroy(fault));
    try {
      const answer = await answerOf(sent, put, body);
      answer.resume();
      return answer.statusCode ?? 0;
    } finally {
      body.destroy();
      // Who answers before it has all wants no more.
      if (!sent.writableFinished) sent.destroy();
    }
  }

  /** Ends its connections; downloads under way fail. Idempotent. */
  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  #send(
    url: URL,
    { headers = {}, signal, silenceMs, firstMs }: Get,
    how: { method?: 'PUT'; agent?: false } = {},
  ): ClientRequest {
    const secure = url.protocol === 'https:';
    const agent = this.#agents[secure ? 'https:' : 'http:'];
    const timeout = Math.min(silenceMs, firstMs ?? silenceMs);
    const options = { agent, headers, timeout, ...(signal && { signal }), ...how };
    return (secure ? secureRequest : request)(url, options);
  }
}

function answerOf(
  sent: ClientRequest,
  { signal, silenceMs, firstMs }: Get,
  body?: Readable,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let answer: IncomingMessage | undefined;
    sent.once('socket', (socket) => watchConnecting(sent, socket));
    sent.on('timeout', () => {
      // What has come and waits for its reader is the reader's silence, not the server's.
      if (!answer || answer.readableLength === 0) {
        const waited = answer ? silenceMs : Math.min(silenceMs, firstMs ?? silenceMs);
        const silent = new Error(`no byte for ${waited / 1000} s`);
        if (answer) answer.destroy(silent);
        sent.destroy(silent);
      }
    });
    sent.on('error', reject);
    sent.once('response', (response) => {
      answer = response;
      sent.setTimeout(silenceMs);
      // Whoever reads it meets its faults; before somebody does, they must not end the process.
      response.on('error', () => {});
      // The request's own signal would throw away what has come, and that would look like the whole answer.
      if (signal) addAbortSignal(signal, response);
      resolve(response);
    });
    if (body) body.pipe(sent);
    else sent.end();
  });
}

function watchConnecting(sent: ClientRequest, socket: Socket): void {
  if (!socket.connecting) return;
  const giveUp = () => sent.destroy(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' }));
  const timer = setTimeout(giveUp, CONNECT_MS);
  const over = () => clearTimeout(timer);
  socket.once('connect', over).once('close', over);
}
