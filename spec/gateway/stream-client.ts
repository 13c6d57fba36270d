import WebSocket from 'ws';
import { until } from '../support/until.ts';

export const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version': '13',
};

/** A client of a stream that keeps the text of every frame. */
export class StreamClient {
  readonly frames: string[] = [];
  readonly socket: WebSocket;
  closed: { code: number; reason: string } | undefined;

  constructor({ port }: { port: number }, target: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${target}`, { headers });
    this.socket.on('message', (frame) => this.frames.push(String(frame)));
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
    });
    this.socket.on('error', () => {});
  }

  /** The ids of the events that came. */
  get ids(): number[] {
    return this.frames.map((frame) => JSON.parse(frame).id);
  }

  async has(count: number): Promise<void> {
    await until(`${count} frames`, () => this.frames.length >= count);
  }
}
