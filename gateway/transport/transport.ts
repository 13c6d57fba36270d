import type { Logger } from 'pino';
import type { RequestHead } from './head.ts';
import type { TlsFiles } from './tls.ts';

/** A response header: name and value. */
export type Header = readonly [string, string];

/** What an answer says before its body. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: readonly Header[];
  /** Whether the connection ends with this answer. */
  readonly last: boolean;
}

/**
 * One request, and the way to answer it. It ends with the answer or with the abort, whichever comes first; nothing
 * of it may be called after that.
 */
export interface Incoming {
  readonly head: RequestHead;
  /** The address of the other end of the connection, where it is known; nobody may know it once the request has ended. */
  readonly peer: string | undefined;
  /** Whether it came as one that can become a WebSocket. */
  readonly upgradable: boolean;
  /** Calls back, at most once, when the client goes before its answer is complete. */
  onAborted(callback: () => void): void;
  /**
   * Takes the body as it comes; to be called before the handler's first await, or bytes are lost. A chunk is only
   * valid during the call: its memory is used again.
   */
  onData(take: (chunk: Uint8Array, isLast: boolean) => void): void;
  /** Makes the client wait with its body. */
  pause(): void;
  resume(): void;
  /**
   * Writes a whole answer; HEAD gets the head of what GET would. Without a body, `Content-Length` is left to the
   * headers. `done` is called when no more of it waits here, maybe before this returns; not when the client goes.
   */
  answer(head: AnswerHead, body: string | Uint8Array | undefined, done: () => void): void;
  /** Begins an answer in pieces, of `length` bytes; null where that is not known beforehand. */
  begin(head: AnswerHead, length: number | null): AnswerBody;
  /** Breaks the connection off, so that the client sees an answer that was begun as incomplete. */
  close(): void;
  /** Resolves when `upgrade` may be called, in the very next step and no later. */
  readyToUpgrade(): Promise<void>;
  /** Answers a request that was checked for it with 101 and turns it into a WebSocket. */
  upgrade(headers: readonly Header[], stream: StreamHandlers): void;
}

/** The body of an answer that is written in pieces. No call may overlap another. */
export interface AnswerBody {
  /** Resolves when the client wants more: what is held for it is one chunk at most. Resolves also when it goes. */
  write(chunk: Uint8Array): Promise<void>;
  /**
   * All is written: resolves to true when no more of it waits here, or the client has gone. False where that is fewer
   * bytes than were announced.
   */
  end(): Promise<boolean>;
}

/** The server's end of a WebSocket. No method may be called after the socket has closed. */
export interface StreamSocket {
  /** Sends a frame of text. */
  send(text: string): void;
  /** Gathers what `work` sends into as few packets as possible. */
  cork(work: () => void): void;
  /** Bytes that the client has not taken yet. */
  buffered(): number;
  end(code: number, reason: string): void;
}

/** What becomes of a WebSocket. What clients send on one is ignored. */
export interface StreamHandlers {
  open(socket: StreamSocket): void;
  /** The client has taken some of what was waiting. */
  drained(): void;
  /** Called once, for whatever reason. */
  closed(): void;
}

/** Limits that every transport keeps for WebSockets. */
export const STREAM_LIMITS = {
  /** Seconds of silence after which a client that answers no ping is taken for gone. */
  idleSeconds: 60,
  /** Clients send nothing on a stream. */
  maxMessageBytes: 1024,
} as const;

export interface Listening {
  readonly port: number;
  /** Takes no new connections. Idempotent. */
  stopListening(): void;
  /**
   * Shows new connections the certificate that the files hold now; open ones go on as they began.
   * @throws StartError `bad_tls`, and then everything stays as it is
   */
  renewTls(): Promise<void>;
  /** Breaks off every connection that is left. */
  close(): void;
}

export type TransportName = 'uws' | 'node';

export interface ListenOptions {
  readonly handle: (request: Incoming) => void;
  /** Headers of the answers that refuse what cannot be read as a request, where the transport lets them have any. */
  readonly headers: readonly Header[];
  readonly log: Logger;
  /** Absent: plain HTTP. */
  readonly tls?: TlsFiles | undefined;
}

/** What speaks HTTP and WebSocket for the gateway. */
export interface Transport {
  readonly name: TransportName;
  /**
   * Listens on a TCP port that no other process shares; 0 takes a free one. Each request is handed over before
   * the first byte of its body.
   * @throws StartError that says why not
   */
  listen(host: string, port: number, options: ListenOptions): Promise<Listening>;
}
