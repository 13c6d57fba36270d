import type { Transport } from '../port.ts';
import { reachable } from '../reachable.ts';
import { Anchor } from './anchor.ts';
import { guardDoor } from './door.ts';
import { UwsIncoming } from './incoming.ts';
import { loadUws } from './library.ts';
import { listen, openDoor } from './listen.ts';
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
      const door = await listen(uws, app, host, port);
      const shut = guardDoor(door, () => openDoor(uws, app, host, door.port), log);
      anchor.aim(reachable(host), door.port);
      return {
        port: door.port,
        stopListening: shut,
        close: () => {
          anchor.stop();
          app.close();
        },
      };
    },
  };
}
