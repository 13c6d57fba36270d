import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** The answer to one request. */
export interface Reply {
  status: number;
  body: string;
}

interface Waiting {
  text: string;
  resolve(reply: Reply): void;
  reject(fault: Error): void;
}

/** All connections of the process read into it: what came is used before the next read, or copied. */
const SHARED = Buffer.allocUnsafe(256 * 1024);
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const LENGTH = 'content-length: ';

/** The headers that a client of this service sends with every request. */
const CLIENT_HEADERS = 'host: 127.0.0.1\r\nx-cluster-api: 1\r\nx-cluster-role: client\r\n';

/**
 * An HTTP client that costs as little as possible: kept connections, one request on each at a time, answers read
 * without parsing more than their status and length. It must leave the processor to the server that is measured.
 * Further requests wait in the order in which they came.
 */
export class HttpPool {
  readonly #lines: Line[] = [];
  readonly #free: Line[] = [];
  readonly #waiting: Waiting[] = [];
  #nextWaiting = 0;

  /** @param connections how many are opened, and so how many requests are under way at most */
  static async open(url: string, connections: number): Promise<HttpPool> {
    const { hostname, port } = new URL(url);
    const pool = new HttpPool();
    const opening = Array.from({ length: connections }, () =>
      Line.open(hostname, Number(port), (line) => pool.#release(line)),
    );
    for (const line of await Promise.all(opening)) {
      pool.#lines.push(line);
      pool.#free.push(line);
    }
    return pool;
  }

  get(path: string): Promise<Reply> {
    return this.#send(`GET ${path} HTTP/1.1\r\n${CLIENT_HEADERS}\r\n`);
  }

  /** @param body JSON text */
  post(path: string, body = ''): Promise<Reply> {
    const type = body === '' ? '' : 'content-type: application/json\r\n';
    const length = `content-length: ${Buffer.byteLength(body)}\r\n`;
    return this.#send(`POST ${path} HTTP/1.1\r\n${CLIENT_HEADERS}${type}${length}\r\n${body}`);
  }

  /** Like `post`; any answer but 200 is a fault of the measurement. */
  async accepted(path: string, body?: string): Promise<string> {
    const reply = await this.post(path, body);
    if (reply.status !== 200) throw new Error(`POST ${path}: ${reply.status} ${reply.body.slice(0, 500)}`);
    return reply.body;
  }

  /** Like `get`; any answer but 200 is a fault of the measurement. */
  async read(path: string): Promise<string> {
    const reply = await this.get(path);
    if (reply.status !== 200) throw new Error(`GET ${path}: ${reply.status} ${reply.body.slice(0, 500)}`);
    return reply.body;
  }

  close(): void {
    for (const line of this.#lines) line.close();
  }

  #send(text: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      // In turns: the server hangs up on connections that nobody uses.
      const line = this.#free.shift();
      if (line) line.send({ text, resolve, reject });
      else this.#waiting.push({ text, resolve, reject });
    });
  }

  #release(line: Line): void {
    const next = this.#waiting[this.#nextWaiting];
    if (!next) {
      this.#free.push(line);
      return;
    }
    this.#nextWaiting++;
    if (this.#nextWaiting === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#nextWaiting = 0;
    }
    line.send(next);
  }
}

/** Stands for a length that is not known beforehand. */
const CHUNKED = Number.POSITIVE_INFINITY;
/** JSON has no line ends of this kind in it. */
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** The content of a body in chunks. */
function joinChunks(body: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.toString('latin1', at, end), 16);
    if (size === 0) return Buffer.concat(parts).toString('utf8');
    parts.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

/** One kept connection. */
class Line {
  readonly #socket: Socket;
  readonly #released: (line: Line) => void;
  #request: Waiting | null = null;
  #received: Buffer | null = null;
  /** Bytes of the whole answer, once its head is read. */
  #expected = 0;
  #bodyAt = 0;
  #status = 0;

  private constructor(host: string, port: number, released: (line: Line) => void) {
    this.#released = released;
    this.#socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer: SHARED,
        callback: (length) => {
          this.#data(SHARED.subarray(0, length));
          return true;
        },
      },
    });
    this.#socket.on('close', () => this.#fail(new Error('the server closed the connection')));
    this.#socket.on('error', (fault) => this.#fail(fault));
  }

  static async open(host: string, port: number, released: (line: Line) => void): Promise<Line> {
    const line = new Line(host, port, released);
    await once(line.#socket, 'connect');
    return line;
  }

  send(request: Waiting): void {
    this.#request = request;
    if (this.#socket.destroyed) this.#fail(new Error('the server closed the connection'));
    else this.#socket.write(request.text);
  }

  close(): void {
    this.#socket.destroy();
  }

  #data(chunk: Buffer): void {
    const received = this.#received === null ? chunk : Buffer.concat([this.#received, chunk]);
    const headed = this.#expected > 0 || this.#head(received);
    const isWhole =
      this.#expected === CHUNKED
        ? received.subarray(-5).equals(LAST_CHUNK)
        : received.length >= this.#expected;
    if (!headed || !isWhole) {
      this.#received = received === chunk ? Buffer.from(chunk) : received;
      return;
    }
    const body =
      this.#expected === CHUNKED
        ? joinChunks(received.subarray(this.#bodyAt))
        : received.toString('utf8', this.#bodyAt, this.#expected);
    const request = this.#request;
    this.#request = null;
    this.#received = null;
    this.#expected = 0;
    request?.resolve({ status: this.#status, body });
    this.#released(this);
  }

  /** Reads status and length; false when the head is not here yet. */
  #head(received: Buffer): boolean {
    const end = received.indexOf(END_OF_HEAD);
    if (end < 0) return false;
    const head = received.toString('latin1', 0, end).toLowerCase();
    this.#status = Number(head.slice(9, 12));
    this.#bodyAt = end + 4;
    if (head.includes('\r\ntransfer-encoding: chunked')) {
      this.#expected = CHUNKED;
      return true;
    }
    const at = head.indexOf(LENGTH);
    if (at < 0) throw new Error(`an answer without a length: ${head}`);
    this.#expected =
      this.#bodyAt + Number.parseInt(head.slice(at + LENGTH.length, at + LENGTH.length + 12), 10);
    return true;
  }

  #fail(error: Error): void {
    const request = this.#request;
    this.#request = null;
    request?.reject(error);
  }
}
