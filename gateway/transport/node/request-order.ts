import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Handles the requests of one connection one after the other. node:http hands over all that were sent in one go, and
 * keeps the answers in order itself; but what is worked on at once must be bounded by connections, not by how many
 * requests a client puts into one packet.
 */
export class RequestOrder {
  readonly #waiting = new WeakMap<Socket, (() => void)[]>();

  /** Begins when the answer before is out, or never, should the connection be lost. */
  take(socket: Socket, response: ServerResponse, begin: () => void): void {
    const waiting = this.#waiting.get(socket);
    response.once('close', () => this.#next(socket));
    if (waiting) {
      waiting.push(begin);
    } else {
      this.#waiting.set(socket, []);
      begin();
    }
  }

  #next(socket: Socket): void {
    const next = this.#waiting.get(socket)?.shift();
    if (!next) this.#waiting.delete(socket);
    else if (!socket.destroyed) next();
  }
}
