import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { listen } from '../support/listen.ts';
import { atEnd } from './folder.ts';

/** One connection through it. */
export interface Line {
  /** Verb and target of the request that went through it last. */
  request: string;
  /** Bytes towards the server since then, and towards the client. */
  sent: number;
  received: number;
}

type Fate = 'pass' | 'cut' | 'hold';

/** Stands between a worker and a server, and breaks or holds their connections as the test says. */
export class FaultyLine {
  /** What becomes of a connection as bytes come from the worker, and from the server. */
  fate: (line: Line, from: 'worker' | 'server') => Fate = () => 'pass';
  #url = '';
  readonly #held: (() => void)[] = [];

  static async start(t: TestContext, port: number): Promise<FaultyLine> {
    const proxy = new FaultyLine();
    const sockets = new Set<Socket>();
    const server = createServer((worker) => {
      const upstream = connect(port, '127.0.0.1');
      for (const socket of [worker, upstream]) sockets.add(socket);
      proxy.#join(worker, upstream);
    });
    proxy.#url = (await listen(server)).url;
    atEnd(t, () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return proxy;
  }

  get url(): string {
    return this.#url;
  }

  /** Lets go of what is held. */
  release(): void {
    this.fate = () => 'pass';
    for (const go of this.#held.splice(0)) go();
  }

  #join(worker: Socket, server: Socket): void {
    const line: Line = { request: '', sent: 0, received: 0 };
    const cut = () => {
      worker.destroy();
      server.destroy();
    };
    for (const socket of [worker, server]) socket.on('error', cut).on('close', cut);
    const pass = (from: 'worker' | 'server', chunk: Buffer) => {
      const fate = this.fate(line, from);
      const send = () => (from === 'worker' ? server : worker).write(chunk);
      if (fate === 'cut') cut();
      else if (fate === 'hold') this.#held.push(send);
      else send();
    };
    worker.on('data', (chunk: Buffer) => {
      const head = /^(GET|POST) \S+/.exec(chunk.subarray(0, 4096).toString('latin1'))?.[0];
      if (head !== undefined) Object.assign(line, { request: head, sent: 0, received: 0 });
      line.sent += chunk.length;
      pass('worker', chunk);
    });
    server.on('data', (chunk: Buffer) => {
      line.received += chunk.length;
      pass('server', chunk);
    });
  }
}
