import { reachable } from '../reachable.ts';
import type { Transport } from '../transport.ts';
import { Anchor } from './anchor.ts';
import { UwsIncoming } from './incoming.ts';
import { loadUws } from './library.ts';
import { listen, openListener } from './listen.ts';
import { guardListener } from './listener-guard.ts';
import { serveSockets } from './sockets.ts';

/**
 * HTTP and WebSocket by uWebSockets.js.
 * @throws when the library cannot be loaded
 */
export async function uwsTransport(): Promise<Transport> {
  const uws = await loadUws();
  return {
    name: 'uws',
    async listen(host, port, { handle, log }) {
      const app = uws.App();
      const anchor = new Anchor();
      serveSockets(app, (res, req, context) => handle(new UwsIncoming(res, req, anchor, context)));
      anchor.serve(app);
      app.any('/*', (res, req) => handle(new UwsIncoming(res, req, anchor)));
      const listener = await listen(uws, app, host, port);
      const shut = guardListener(listener, () => openListener(uws, app, host, listener.port), log);
      anchor.aim(reachable(host), listener.port);
      return {
        port: listener.port,
        stopListening: shut,
        close: () => {
          anchor.stop();
          app.close();
        },
      };
    },
  };
}
