import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { close, listen } from '../support/listen.ts';
import { atEnd } from './folder.ts';

/** A line to a server that counts what goes over it, and may hold back or change an answer. */
export class CountingLine {
  readonly seen: string[] = [];
  /** Answers that went out whole, and what broke off, in their order. */
  readonly ended: string[] = [];
  /** Sees each answer before it goes on; it may take it upon itself, and says so by `true`. */
  meet: (line: string, answer: IncomingMessage, outgoing: ServerResponse) => boolean | Promise<boolean> =
    () => false;
  readonly #server: string;
  #port = 0;

  private constructor(server: string) {
    this.#server = server;
  }

  static async to(t: TestContext, server: { url: string }): Promise<CountingLine> {
    const line = new CountingLine(server.url);
    const proxy = createServer((incoming, outgoing) => line.#pass(incoming, outgoing));
    line.#port = (await listen(proxy)).port;
    atEnd(t, () => close(proxy));
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** How often an artifact was asked for. */
  count(artifactId: string, method = 'GET'): number {
    return this.seen.filter((line) => line === `${method} /v1/artifacts/${artifactId}`).length;
  }

  /** How often it was given: what breaks off on the way is asked for again. */
  given(artifactId: string): number {
    return this.ended.filter((line) => line === `200 GET /v1/artifacts/${artifactId}`).length;
  }

  /** What a failed assertion shows. */
  get story(): string {
    return [...this.seen, 'ended:', ...this.ended].join('\n');
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method, url = '', headers } = incoming;
    const line = `${method} ${url}`;
    this.seen.push(line);
    // Over a connection of its own: under one that was idle, the server may close it just as a request goes out.
    const how = { method, headers, agent: false };
    const passed = request(`${this.#server}${url}`, how, async (answer) => {
      if (await this.meet(line, answer, outgoing)) return;
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', (error: NodeJS.ErrnoException) => {
      this.ended.push(`${error.code} ${line}`);
      outgoing.destroy();
    });
    outgoing.on('close', () => {
      this.ended.push(`${outgoing.writableFinished ? outgoing.statusCode : 'broken off'} ${line}`);
      passed.destroy();
    });
    incoming.pipe(passed);
  }
}
