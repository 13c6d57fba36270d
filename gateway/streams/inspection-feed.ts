import type { Inspected } from '../backend.ts';
import type { StreamSocket } from '../transport/transport.ts';

export interface InspectionLimits {
  /** Bytes that may wait in the socket; more is sent when they are taken. */
  maxBuffered: number;
  /** Messages that may wait, beside the actors that the stream begins with; beyond it the client is too slow. */
  maxWaiting: number;
}

export const INSPECTION_LIMITS: InspectionLimits = { maxBuffered: 64 * 1024, maxWaiting: 5_000 };

/** Messages that become text without a break: some milliseconds. */
const AT_ONCE = 100;

const TRY_AGAIN_LATER = 1013;
const TOO_SLOW = 'too slow; connect again';

/**
 * One socket's inspection messages. There is no history to resume from: who does not keep up is closed, and a
 * new connection begins with the actors as they are then. What waits is kept as references and made into text
 * when the client takes it, so waiting costs little and is bounded.
 */
export class InspectionFeed {
  readonly #limits: InspectionLimits;
  #waiting: Inspected[] = [];
  /** The first of `#waiting` that was not sent yet. */
  #next = 0;
  /** How much may wait; known once the actors at the beginning are. */
  #room: number | undefined;
  #socket: StreamSocket | undefined;
  #closed = false;
  /** Whether it goes on by itself when others have had their turn. */
  #goesOn = false;
  readonly #onClosed: () => void;
  #onDropped: (frames: number) => void = () => {};

  /** @param onClosed called once, when nothing will be sent any more */
  constructor(onClosed: () => void, limits: InspectionLimits = INSPECTION_LIMITS) {
    this.#onClosed = onClosed;
    this.#limits = limits;
  }

  /**
   * The socket is open; what came until now is sent.
   * @param onDropped told how many messages were due to a client that is closed as too slow
   */
  attach(socket: StreamSocket, onDropped: (frames: number) => void = () => {}): void {
    this.#onDropped = onDropped;
    if (this.#closed) {
      socket.end(TRY_AGAIN_LATER, TOO_SLOW);
      return;
    }
    this.#socket = socket;
    this.#pump();
  }

  publish(messages: readonly Inspected[]): void {
    if (this.#closed) return;
    this.#room ??= messages.length + this.#limits.maxWaiting;
    // Looked at before the new ones are added: one large commit alone is not the client's fault.
    if (this.#waiting.length - this.#next > this.#room) {
      this.#onDropped(this.#waiting.length - this.#next + messages.length);
      this.#socket?.end(TRY_AGAIN_LATER, TOO_SLOW);
      this.closed();
      return;
    }
    for (const message of messages) this.#waiting.push(message);
    this.#pump();
  }

  /** The client has taken what was waiting. */
  drained(): void {
    this.#pump();
  }

  /** The socket has closed, or never opened, and must not be touched any more. Idempotent. */
  closed(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#waiting = [];
    this.#onClosed();
  }

  #pump(): void {
    const socket = this.#socket;
    if (!socket || this.#closed || this.#next === this.#waiting.length) return;
    const end = Math.min(this.#waiting.length, this.#next + AT_ONCE);
    socket.cork(() => {
      while (this.#next < end && socket.buffered() <= this.#limits.maxBuffered) {
        socket.send((this.#waiting[this.#next++] as Inspected).text);
      }
    });
    // A client that reads quickly has taken all of it already.
    if (this.#next === end && end < this.#waiting.length) this.#goOn();
    if (this.#next < this.#waiting.length && this.#next < this.#limits.maxWaiting) return;
    // What was sent is forgotten: at once when all was, else in larger pieces.
    this.#waiting.splice(0, this.#next);
    this.#next = 0;
  }

  #goOn(): void {
    if (this.#goesOn) return;
    this.#goesOn = true;
    setImmediate(() => {
      this.#goesOn = false;
      this.#pump();
    });
  }
}
