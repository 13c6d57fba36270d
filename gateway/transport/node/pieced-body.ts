import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { AnswerBody } from '../transport.ts';
import { STALL_TIMEOUT } from './limits.ts';

/** A body that waits for its client chunk by chunk. */
export class PiecedBody implements AnswerBody {
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #length: number | null;
  #written = 0;

  constructor(response: ServerResponse, socket: Socket, length: number | null) {
    this.#response = response;
    this.#socket = socket;
    this.#length = length;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#written += chunk.byteLength;
    if (this.#response.destroyed || this.#response.write(chunk)) return;
    await this.#until('drain');
  }

  async end(): Promise<boolean> {
    if (this.#response.destroyed) return true;
    if (this.#length !== null && this.#written !== this.#length) return false;
    this.#response.end();
    if (!this.#response.writableFinished) await this.#until('finish');
    return true;
  }

  /** Resolves then, or when the client goes, which one does that takes nothing for too long. */
  async #until(event: 'drain' | 'finish'): Promise<void> {
    this.#socket.setTimeout(STALL_TIMEOUT);
    await new Promise<void>((resolve) => {
      const settle = () => {
        this.#response.off(event, settle);
        this.#response.off('close', settle);
        resolve();
      };
      this.#response.on(event, settle);
      this.#response.on('close', settle);
    });
    if (event === 'drain') this.#socket.setTimeout(0);
  }
}
