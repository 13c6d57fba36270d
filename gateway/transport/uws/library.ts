/**
 * The part of uWebSockets.js that is used. Declared here and not imported, so that everything compiles where the
 * library is not installed, and with whichever of its packages is.
 */
export interface UwsLibrary {
  App(): UwsApp;
  SSLApp(options: { cert_file_name: string; key_file_name: string }): UwsApp;
  us_listen_socket_close(socket: ListenSocket): void;
  us_socket_local_port(socket: ListenSocket): number;
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

declare const opaque: unique symbol;
export interface ListenSocket {
  [opaque]: 'listen socket';
}
export interface SocketContext {
  [opaque]: 'context';
}

export interface UwsApp {
  any(pattern: string, handler: (res: UwsResponse, req: UwsRequest) => void): UwsApp;
  get(pattern: string, handler: (res: UwsResponse, req: UwsRequest) => void): UwsApp;
  ws<UserData>(pattern: string, behavior: UwsBehavior<UserData>): UwsApp;
  listen(host: string, port: number, options: number, done: (socket: ListenSocket | false) => void): UwsApp;
  /** Told of each connection that is opened (1) and closed (-1). */
  filter(handler: (res: UwsResponse, change: number) => void): UwsApp;
  close(): UwsApp;
}

export interface UwsRequest {
  getMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  forEach(look: (name: string, value: string) => void): void;
}

export interface UwsResponse {
  getRemoteAddressAsText(): ArrayBuffer;
  onAborted(callback: () => void): UwsResponse;
  onData(take: (chunk: ArrayBuffer, isLast: boolean) => void): UwsResponse;
  onWritable(callback: (offset: number) => boolean): UwsResponse;
  pause(): void;
  resume(): void;
  cork(work: () => void): UwsResponse;
  writeStatus(status: string): UwsResponse;
  writeHeader(name: string, value: string): UwsResponse;
  /** False when the socket took less than all; what it did not take is kept by the library. */
  write(chunk: string | Uint8Array): boolean;
  end(body?: string | Uint8Array, closeConnection?: boolean): UwsResponse;
  endWithoutBody(reportedContentLength?: number, closeConnection?: boolean): UwsResponse;
  /** Whether all of the chunk was taken, and whether the answer is complete. */
  tryEnd(chunk: string | Uint8Array, totalSize: number): [boolean, boolean];
  getWriteOffset(): number;
  close(): UwsResponse;
  upgrade<UserData>(
    userData: UserData,
    key: string,
    protocol: string,
    extensions: string,
    context: SocketContext,
  ): void;
}

export interface UwsBehavior<UserData> {
  maxBackpressure: number;
  idleTimeout: number;
  sendPingsAutomatically: boolean;
  maxPayloadLength: number;
  upgrade: (res: UwsResponse, req: UwsRequest, context: SocketContext) => void;
  open: (ws: UwsSocket<UserData>) => void;
  drain: (ws: UwsSocket<UserData>) => void;
  close: (ws: UwsSocket<UserData>) => void;
}

export interface UwsSocket<UserData> {
  getUserData(): UserData;
  send(text: string): number;
  cork(work: () => void): unknown;
  getBufferedAmount(): number;
  end(code: number, reason: string): void;
}

/** Not written into the import itself, since the compiler would want to find it. */
const NAME: string = 'uWebSockets.js';

/**
 * Loads the library.
 * @throws when it is not installed, or has no binary for this version of Node.js on this system
 */
export async function loadUws(): Promise<UwsLibrary> {
  const { default: library } = (await import(NAME)) as { default: UwsLibrary };
  return library;
}
