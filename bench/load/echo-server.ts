import { loadUws } from '../../gateway/transport/uws/library.ts';

/**
 * A bare uWebSockets.js server that answers every request with the body it got: what a generator is checked against.
 */
const uWS = await loadUws();
const app = uWS.App().any('/*', (res) => {
  let aborted = false;
  const chunks: Buffer[] = [];
  res.onAborted(() => {
    aborted = true;
  });
  res.onData((chunk, last) => {
    chunks.push(Buffer.from(chunk.slice(0)));
    if (!last || aborted) return;
    res.cork(() => res.writeHeader('Content-Type', 'application/json').end(Buffer.concat(chunks)));
  });
});
app.listen('127.0.0.1', 0, uWS.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
  if (!socket) throw new Error('cannot listen');
  process.send?.({ port: uWS.us_socket_local_port(socket) });
});
process.once('disconnect', () => process.exit());
