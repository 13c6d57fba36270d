import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What goes wrong with a request on its way. */
export type Fault =
  /** The connection is closed before anything is answered. */
  | 'cut'
  /** Nothing is ever answered. */
  | 'hang'
  /** The answer breaks off after so many bytes of it. */
  | { cutAfter: number }
  /** The request breaks off after so many bytes of it. */
  | { cutRequestAfter: number }
  /** The service does what it is asked to, and the answer is lost. */
  | 'lose answer'
  | { status: number; code: string };

/** A way to a service on which faults are made. */
export class FaultProxy {
  /** What was asked for, such as `PUT /bucket/key`. */
  readonly seen: string[] = [];
  /** Decides what goes wrong with a request: undefined for nothing. */
  fault: (asked: string, incoming: IncomingMessage) => Fault | undefined = () => undefined;
  readonly #target: URL;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;

  constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((incoming, answer) => this.#pass(incoming, answer));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Again under the port that it had. */
  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** Nobody is there any more. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #pass(incoming: IncomingMessage, answer: ServerResponse): void {
    const asked = `${incoming.method} ${incoming.url}`;
    this.seen.push(asked);
    const fault = this.fault(asked, incoming);
    incoming.on('error', () => {});
    if (fault === 'hang') return;
    if (fault === 'cut') return void incoming.socket.destroy();
    if (typeof fault === 'object' && 'status' in fault) {
      incoming.resume();
      answer.writeHead(fault.status, { 'content-type': 'application/xml' });
      answer.end(`<?xml version="1.0"?><Error><Code>${fault.code}</Code><Message>made</Message></Error>`);
      return;
    }
    const { hostname, port } = this.#target;
    const { method, url, headers } = incoming;
    const asks = { hostname, port, method, path: url, headers: withoutExpect(headers), agent: false };
    const onward = request(asks, (from) => {
      if (fault === 'lose answer') {
        from.resume().once('end', () => incoming.socket.destroy());
        return;
      }
      answer.writeHead(from.statusCode ?? 500, from.headers);
      let left = typeof fault === 'object' && 'cutAfter' in fault ? fault.cutAfter : Infinity;
      from.on('error', () => answer.destroy());
      from.on('data', (piece: Buffer) => {
        if (left === Infinity) {
          if (!answer.write(piece)) {
            from.pause();
            answer.once('drain', () => from.resume());
          }
          return;
        }
        const part = piece.subarray(0, left);
        left -= part.length;
        answer.write(part, () => {
          if (left === 0) answer.destroy();
        });
      });
      from.once('end', () => {
        if (left === Infinity || left > 0) answer.end();
      });
    });
    onward.on('error', () => answer.destroy());
    answer.once('close', () => onward.destroy());
    let takes = typeof fault === 'object' && 'cutRequestAfter' in fault ? fault.cutRequestAfter : Infinity;
    incoming.on('data', (piece: Buffer) => {
      takes -= piece.length;
      if (takes < 0) return void incoming.socket.destroy();
      if (!onward.write(piece)) {
        incoming.pause();
        onward.once('drain', () => incoming.resume());
      }
    });
    incoming.once('end', () => onward.end());
  }
}

/** The service's leave to send is not waited for: this is the one that is asked. */
const withoutExpect = ({ expect: _, ...headers }: IncomingMessage['headers']) => headers;
