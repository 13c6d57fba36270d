import { loadUws, type UwsApp } from '../../gateway/transport/uws/library.ts';
import { tickData } from './tick.ts';

/**
 * A bare uWebSockets.js server that publishes ticks to every socket: what the frames cost by themselves. Its parent
 * sends `{frame, perSecond, ticks}`; in the frame, the tick's data is replaced by that of the moment.
 */
interface Order {
  frame: string;
  perSecond: number;
  ticks: number;
}

const DATA = /\{"n":\d+,"sent":[\d.]+\}/;

/** What only this server uses of the library. */
interface PublishingApp extends Omit<UwsApp, 'ws'> {
  ws(pattern: string, behavior: { open(socket: { subscribe(topic: string): void }): void }): PublishingApp;
  publish(topic: string, text: string): boolean;
}

const uWS = await loadUws();
const app = (uWS.App() as unknown as PublishingApp).ws('/*', {
  open(socket) {
    socket.subscribe('all');
  },
});

function publish({ frame, perSecond, ticks }: Order): void {
  const began = performance.now();
  let n = 0;
  const next = () => {
    app.publish('all', frame.replace(DATA, tickData(n)));
    n++;
    if (n < ticks) setTimeout(next, Math.max(0, began + (n * 1000) / perSecond - performance.now()));
  };
  next();
}

process.on('message', publish);
process.once('disconnect', () => process.exit());
app.listen('127.0.0.1', 0, uWS.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
  if (!socket) throw new Error('cannot listen');
  process.send?.({ port: uWS.us_socket_local_port(socket) });
});
