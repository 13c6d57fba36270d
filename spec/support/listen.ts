import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import type { TestContext } from 'node:test';

/** Has a server listen on loopback; on a free port, if none is given. */
export async function listen(server: Server, port = 0): Promise<{ port: number; url: string }> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  return { port: taken, url: `http://127.0.0.1:${taken}` };
}

/** Closes a server with all its connections. */
export function close(server: Server): void {
  (server as Partial<HttpServer>).closeAllConnections?.();
  server.close();
}

/** Has a server listen until the test ends. */
export async function listenFor(t: TestContext, server: Server): Promise<{ port: number; url: string }> {
  t.after(() => close(server));
  return listen(server);
}
