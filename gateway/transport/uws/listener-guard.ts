import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Listener } from './listen.ts';

/** Milliseconds between two looks. */
const LOOK = 250;
/** Files that must be free before connections are taken again. */
const ROOM = 8;

export interface ListenerGuard {
  /** Listens no more. Idempotent. */
  stop(): void;
  /**
   * Has the port opened anew, by what `reopen` opens now. What waits at a socket that is closed is lost, so that is done
   * right after a look at the sockets that found nothing.
   */
  renew(): Promise<void>;
}

/**
 * Stops listening while no file can be opened. For want of a descriptor the library tries to accept the same
 * connection again and again, and takes a whole processor for that. Connections that are open are served meanwhile.
 */
export function guardListener(
  listener: Listener,
  reopen: () => Promise<Listener | null>,
  log: Logger,
): ListenerGuard {
  let open: Listener | null = listener;
  /** Holds the descriptor of the listener while it is closed, or others would take it. */
  let place: number | null = null;
  const leave = () => {
    if (place !== null) closeSync(place);
    place = null;
  };
  let isStopped = false;
  const look = async () => {
    if (open && !hasRoom(1)) {
      open.close();
      open = null;
      place = tryOpen();
      // While nothing listens and no connection is open, only this timer keeps the process alive.
      timer.ref();
      log.warn('no file descriptor is left: no connections are taken until some are free');
    } else if (!open && hasRoom(ROOM)) {
      leave();
      const opened = await reopen();
      if (isStopped) opened?.close();
      else open = opened;
      if (!opened) return;
      timer.unref();
      log.info('connections are taken again');
    }
  };
  // One check after the other, since one may wait for the listener.
  const timer = setTimeout(async function again() {
    await look();
    if (!isStopped) timer.refresh();
  }, LOOK);
  timer.unref();
  return {
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      open?.close();
      leave();
    },
    renew: async () => {
      const beside = await reopen();
      await quietMoment();
      // One that was closed for want of descriptors, or for good, has nothing that could be lost.
      const isReplaced = open !== null && !isStopped;
      if (!isReplaced) return beside?.close();
      open?.close();
      open = beside ?? (await reopen());
      // Then each look tries again, as when descriptors were missing.
      if (open === null) timer.ref();
    },
  };
}

/** Milliseconds in which the event loop has looked at its sockets and found nothing. */
const NOTHING = 0.03;
/** Looks after which a server is too busy to wait for such a moment. */
const MOST_LOOKS = 2000;

/** Resolves right behind a look of the event loop at its sockets that found nothing to do, if there is one soon. */
async function quietMoment(): Promise<void> {
  await setImmediate();
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const before = performance.now();
    await setImmediate();
    if (performance.now() - before < NOTHING) return;
  }
}

/** Whether so many files could be opened now. */
function hasRoom(count: number): boolean {
  const files: number[] = [];
  for (let file = tryOpen(); file !== null; file = files.length < count ? tryOpen() : null) files.push(file);
  for (const file of files) closeSync(file);
  return files.length >= count;
}

function tryOpen(): number | null {
  try {
    return openSync(devNull, 'r');
  } catch {
    return null;
  }
}
