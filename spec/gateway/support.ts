import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import pino, { type Logger } from 'pino';
import { Credentials } from '../../gateway/auth/credentials.ts';
import { type Gateway, startGateway } from '../../gateway/gateway.ts';
import type { GatewayOptions } from '../../gateway/options.ts';
import { FakeBackend } from '../support/fake-backend.ts';
import { TRANSPORT } from '../support/transport.ts';

export interface TestGateway extends Gateway, AsyncDisposable {
  cluster: FakeBackend;
}

/** A gateway on a free port, over a cluster that the test controls. */
export async function gatewayFor(
  options: Partial<GatewayOptions> & { principals?: string[] } = {},
  cluster = new FakeBackend(),
): Promise<TestGateway> {
  const { principals, ...rest } = options;
  const gateway = await startGateway({
    backend: cluster,
    host: '127.0.0.1',
    port: 0,
    transport: TRANSPORT,
    auth: Credentials.from({ principals }),
    facts: { service: 'jq-cluster', version: '9.9.9', allowPythonJobs: false },
    log: silent(),
    dashboard: () => '<!doctype html><title>t</title>',
    drainMs: 2_000,
    ...rest,
  });
  return Object.assign(gateway, { cluster, [Symbol.asyncDispose]: () => gateway.stop() });
}

export const silent = (): Logger => pino({ level: 'silent' });

/** A log whose lines the test can read. */
export function recordingLog(level = 'debug'): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  return { lines, log: pino({ level }, { write: (line: string) => void lines.push(line) }) };
}

export interface RawAnswer {
  status: number;
  headers: Map<string, string>;
  body: string;
}

/** A connection without a client library's opinions. */
export class RawConnection {
  readonly socket: Socket;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #changed: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.#chunks.push(chunk);
      this.#size += chunk.length;
      this.#changed();
    });
    socket.on('close', () => this.#changed());
    socket.on('error', () => {});
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  get received(): string {
    return this.#joined().toString('latin1');
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** Writes a request head; a Host header is added. */
  head(line: string, headers: Record<string, string> = {}): void {
    const all = { Host: `127.0.0.1:${this.socket.remotePort}`, ...headers };
    const text = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    this.write(`${line} HTTP/1.1\r\n${text.join('')}\r\n`);
  }

  chunk(bytes: string): void {
    this.write(`${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`);
  }

  /** The next answer, by its Content-Length, or its chunks (or none, for `bodiless`); what follows it stays. */
  async answer(bodiless = false): Promise<RawAnswer> {
    await this.#until(() => this.#joined().includes('\r\n\r\n'));
    const head = readHead(this.#joined());
    if (!bodiless && head.headers.get('transfer-encoding') === 'chunked') return this.#chunkedAnswer(head);
    const length = bodiless ? 0 : Number(head.headers.get('content-length') ?? 0);
    await this.#until(() => this.#size >= head.end + length);
    const bytes = this.#joined();
    this.#chunks.splice(0, 1, bytes.subarray(head.end + length));
    this.#size -= head.end + length;
    const body = bytes.toString('utf8', head.end, head.end + length);
    return { status: head.status, headers: head.headers, body };
  }

  async #chunkedAnswer({ status, headers, end }: ReturnType<typeof readHead>): Promise<RawAnswer> {
    let found: ReturnType<typeof unchunked> = null;
    await this.#until(() => {
      // Put together only when it may be whole.
      const tail = Buffer.concat(this.#chunks.slice(-5)).subarray(-LAST_CHUNK.length);
      found = tail.toString('latin1') === LAST_CHUNK ? unchunked(this.#joined(), end) : null;
      return found !== null;
    });
    const { body, end: after } = found as unknown as { body: Buffer; end: number };
    const bytes = this.#joined();
    this.#chunks.splice(0, 1, bytes.subarray(after));
    this.#size -= after;
    return { status, headers, body: body.toString('utf8') };
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.socket.closed) throw new Error(`closed without an answer: ${this.received.slice(0, 300)}`);
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** All that came and was not taken yet, in one piece. */
  #joined(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks.splice(0, Infinity, Buffer.concat(this.#chunks));
    return this.#chunks[0] as Buffer;
  }

  close(): void {
    this.socket.destroy();
  }
}

const LAST_CHUNK = '0\r\n\r\n';

/** A body in chunks, put together; null while it is not whole. */
function unchunked(bytes: Buffer, from: number): { body: Buffer; end: number } | null {
  const parts: Buffer[] = [];
  for (let at = from; ; ) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return null;
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    const next = line + 2 + size + 2;
    if (next > bytes.length) return null;
    if (size === 0) return { body: Buffer.concat(parts), end: next };
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = next;
  }
}

/** `end` is where the body begins. */
function readHead(bytes: Buffer): { status: number; headers: Map<string, string>; end: number } {
  const end = bytes.indexOf('\r\n\r\n');
  const [first, ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { status: Number((first as string).split(' ')[1]), headers, end: end + 4 };
}

export interface Ask {
  /** Method and target, such as `GET /v1/jobs`. */
  line: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Sends the body in chunks, without a declared length. */
  chunked?: boolean;
}

/** One request on a connection of its own, byte for byte as asked. */
export async function ask(port: number, { line, headers, body = '', chunked }: Ask): Promise<RawAnswer> {
  const connection = await RawConnection.open(port);
  const length: Record<string, string> = chunked
    ? { 'Transfer-Encoding': 'chunked' }
    : { 'Content-Length': String(Buffer.byteLength(body)) };
  connection.head(line, { ...length, ...headers });
  if (chunked) connection.write(`${Buffer.byteLength(body).toString(16)}\r\n`);
  connection.write(body);
  if (chunked) connection.write('\r\n0\r\n\r\n');
  try {
    return await connection.answer(line.startsWith('HEAD'));
  } finally {
    connection.close();
  }
}

export const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** A multipart body with the given parts, and its content type. */
export function multipart(
  parts: { disposition: string; content: string | Buffer; type?: string }[],
  boundary = 'xyz',
): { body: Buffer; type: string } {
  const pieces = parts.flatMap(({ disposition, content, type }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n` +
        `${type ? `Content-Type: ${type}\r\n` : ''}\r\n`,
    ),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  const body = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
  return { body, type: `multipart/form-data; boundary=${boundary}` };
}
