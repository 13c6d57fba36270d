import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { UwsApp, UwsResponse } from './library.ts';

/** Milliseconds in which the server should reach itself. */
const PATIENCE = 1000;

/**
 * A request of the server to itself that is never answered, for the sake of `cork` on its response.
 *
 * A request that is upgraded after an await must be upgraded inside a `cork`, or the library complains. Inside
 * that of its own response the library afterwards mistakes the WebSocket for the response it was, because the
 * socket keeps its place in memory; whatever lies there is then read as the response's state. In some processes
 * it happens to say "close", and every stream ends as soon as it is open. (uWebSockets' pull request 1929 mends
 * it.) Inside the `cork` of another response nothing is mistaken.
 *
 * It goes when every release that can be installed here has that change: see whether `spec/transport/anchor.spec.ts`
 * passes with upgrades inside the `cork` of their own response.
 */
export class Anchor {
  readonly #path = `/${randomUUID()}`;
  #address: { host: string; port: number; secure: boolean } | undefined;
  #socket: Socket | undefined;
  #response: UwsResponse | undefined;
  #arriving: Promise<void> | undefined;
  #arrived: () => void = () => {};

  /** Takes its own requests from an app; nobody else knows their path. */
  serve(app: UwsApp): void {
    app.get(this.#path, (response) => {
      response.onAborted(() => {
        if (this.#response === response) this.#response = undefined;
      });
      this.#response = response;
      this.#arrived();
    });
  }

  /** Where the app listens, once it does, and whether that is by TLS. */
  aim(host: string, port: number, secure: boolean): void {
    this.#address = { host, port, secure };
  }

  /** The response whose `cork` serves; undefined before `ready`, and where the server cannot reach itself. */
  get response(): UwsResponse | undefined {
    return this.#response;
  }

  /** Resolves once there is a response, or it is clear that there will be none. */
  async ready(): Promise<void> {
    if (this.#response) return;
    this.#arriving ??= this.#reach().finally(() => {
      this.#arriving = undefined;
    });
    await this.#arriving;
  }

  /** Idempotent. */
  stop(): void {
    this.#address = undefined;
    this.#response = undefined;
    this.#socket?.destroy();
  }

  #reach(): Promise<void> {
    const { host, port, secure } = this.#address ?? {};
    if (host === undefined || port === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#arrived = resolve;
      const ask = () => void socket.write(`GET ${this.#path} HTTP/1.1\r\nHost: anchor\r\n\r\n`);
      // It tells nobody anything, and nobody else can know the path; the certificate is for the names of clients.
      const socket = secure
        ? connectSecurely({ host, port, rejectUnauthorized: false }, ask)
        : connect({ host, port }, ask);
      this.#socket = socket;
      socket.unref();
      socket.on('error', () => {});
      socket.on('close', () => resolve());
      socket.setTimeout(PATIENCE, () => {
        if (!this.#response) socket.destroy();
      });
    });
  }
}
