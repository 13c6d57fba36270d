import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** All sockets of the process read into it: what came is used before the next read, or copied. */
const SHARED = Buffer.allocUnsafe(256 * 1024);
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const FINAL = 0x80;
const MASKED = 0x80;
const END_OF_HEAD = Buffer.from('\r\n\r\n');

/**
 * A WebSocket client that only receives, as cheaply as possible: text frames of a server as they come (RFC 6455,
 * section 5.2). Pings are answered, or the server would take the client for dead.
 */
export class FrameReader {
  readonly #socket: Socket;
  readonly #onText: (text: string) => void;
  #rest: Buffer | null = null;
  #upgraded = false;
  #opened: () => void = () => {};
  #failed: (error: Error) => void = () => {};

  private constructor(host: string, port: number, onText: (text: string) => void) {
    this.#onText = onText;
    this.#socket = connect({
      host,
      port,
      onread: {
        buffer: SHARED,
        callback: (length) => {
          this.#data(SHARED.subarray(0, length));
          return true;
        },
      },
    });
    this.#socket.on('error', (fault) => this.#failed(fault));
    this.#socket.on('close', () => this.#failed(new Error('the stream was closed')));
  }

  /** @param onText is called with the text of each frame */
  static open(url: string, path: string, onText: (text: string) => void): Promise<FrameReader> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const reader = new FrameReader(hostname, Number(port), onText);
      reader.#opened = () => resolve(reader);
      reader.#failed = reject;
      const key = randomBytes(16).toString('base64');
      reader.#socket.write(
        `GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-key: ${key}\r\nsec-websocket-version: 13\r\n\r\n`,
      );
    });
  }

  /** Called once when the stream ends by the server's will. */
  onFault(listener: (error: Error) => void): void {
    this.#failed = listener;
  }

  close(): void {
    this.#failed = () => {};
    this.#socket.destroy();
  }

  #data(chunk: Buffer): void {
    let bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk]);
    if (!this.#upgraded) {
      const end = bytes.indexOf(END_OF_HEAD);
      if (end < 0) {
        this.#rest = Buffer.from(bytes);
        return;
      }
      const status = bytes.toString('latin1', 9, 12);
      if (status !== '101') this.#failed(new Error(`the upgrade was answered with ${status}`));
      this.#upgraded = true;
      bytes = bytes.subarray(end + 4);
      this.#opened();
    }
    this.#rest = this.#frames(bytes);
  }

  /** A client masks what it sends; a mask of zeros leaves the text as it is. */
  #pong(text: Buffer): void {
    this.#socket.write(Buffer.from([FINAL | PONG, MASKED | text.length, 0, 0, 0, 0, ...text]));
  }

  /** Reads all whole frames and returns what is left. */
  #frames(bytes: Buffer): Buffer | null {
    let at = 0;
    while (bytes.length - at >= 2) {
      const short = (bytes[at + 1] as number) & 0x7f;
      const head = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (bytes.length - at < head) break;
      const length =
        short < 126
          ? short
          : short === 126
            ? bytes.readUInt16BE(at + 2)
            : Number(bytes.readBigUInt64BE(at + 2));
      const end = at + head + length;
      if (bytes.length < end) break;
      const opcode = (bytes[at] as number) & 0x0f;
      if (opcode === TEXT) this.#onText(bytes.toString('latin1', at + head, end));
      if (opcode === PING) this.#pong(bytes.subarray(at + head, end));
      if (opcode === CLOSE) this.#failed(new Error(`closed with ${bytes.readUInt16BE(at + head)}`));
      at = end;
    }
    return at === bytes.length ? null : Buffer.from(bytes.subarray(at));
  }
}
