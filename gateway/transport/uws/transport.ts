import { StartError } from '../../../machines/protocol/start-error.ts';
import { reachable } from '../reachable.ts';
import { readTls, type TlsFiles } from '../tls.ts';
import type { Transport } from '../transport.ts';
import { Anchor } from './anchor.ts';
import { UwsIncoming } from './incoming.ts';
import { loadUws, type UwsApp, type UwsLibrary } from './library.ts';
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
    async listen(host, port, { handle, log, tls }) {
      const anchor = new Anchor();
      const served = () => {
        const app = appFor(uws, tls);
        serveSockets(app, (res, req, context) => handle(new UwsIncoming(res, req, anchor, context)));
        anchor.serve(app);
        return app.any('/*', (res, req) => handle(new UwsIncoming(res, req, anchor)));
      };
      // The last one takes new connections; those before it keep the ones that they have.
      const apps = [served()];
      const newest = () => apps.at(-1) as UwsApp;
      const place = { host, port, shared: tls !== undefined };
      const listener = await listen(uws, newest(), place);
      const reopen = () => openListener(uws, newest(), { ...place, port: listener.port });
      const guard = guardListener(listener, reopen, log);
      anchor.aim(reachable(host), listener.port, tls !== undefined);
      return {
        port: listener.port,
        stopListening: guard.stop,
        renewTls: async () => {
          if (tls === undefined) return;
          apps.push(served());
          await guard.renew();
        },
        close: () => {
          anchor.stop();
          for (const app of apps) app.close();
        },
      };
    },
  };
}

/** The library reads the files once more by itself, and says of what it does not like no word. */
function appFor(uws: UwsLibrary, tls: TlsFiles | undefined): UwsApp {
  if (tls === undefined) return uws.App();
  readTls(tls);
  try {
    return uws.SSLApp({ cert_file_name: tls.cert, key_file_name: tls.key });
  } catch (error) {
    const why = (error as Error).message;
    throw new StartError('bad_tls', `uWebSockets.js cannot use ${tls.cert} and ${tls.key} (${why})`);
  }
}
