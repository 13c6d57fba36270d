import type WebSocket from 'ws';
import { PULSE_MS } from './pulse.ts';

/**
 * Milliseconds without a sign of life after which a connection is taken for lost, although nobody has closed it: a server that
 * went with its machine, or is stopped, or a router that forgot. Where another server can be asked, as soon as for requests; one
 * that is alone is waited for, since nobody else has anything to tell.
 */
export const AMONG_MS = 2 * PULSE_MS;
export const ALONE_MS = 90_000;

/**
 * Notices when the other end of a socket says nothing any more. After half of the time it is pinged, which whoever is there answers
 * (RFC 6455, 5.5.3), however little there is to tell.
 * @param onOver told once
 */
export function onSilence(socket: WebSocket, silenceMs: number, onOver: () => void) {
  let isAsked = false;
  const timer = setTimeout(() => {
    // While the reader takes its time, it is this side that does not listen.
    if (!isAsked || socket.isPaused) {
      isAsked = !socket.isPaused;
      if (isAsked && socket.readyState === socket.OPEN) socket.ping();
      timer.refresh();
    } else onOver();
  }, silenceMs / 2);
  const heard = () => {
    isAsked = false;
    timer.refresh();
  };
  socket.on('ping', heard);
  socket.on('pong', heard);
  return { heard, stop: () => clearTimeout(timer) };
}
