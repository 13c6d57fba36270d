import type { ServerView } from '../../machines/schema/servers.ts';
import type { WorkerView } from '../../machines/schema/views.ts';
import type { Series } from './series.ts';

/** What the doctor has looked at. Times in seconds since the epoch. */
export interface Examined {
  server: string;
  version: string;
  ownVersion: string;
  /** The one that leads: this one, or another; or why that could not be asked. */
  leading: Leading | { fault: string };
  /** Its clock, and this machine's at the same moment; null where it did not say. */
  clocks: { server: number; own: number } | null;
  /** All that are on its store; null where it does not tell. */
  servers: readonly ServerView[] | null;
  /** What the other addresses say that this program was told. */
  beside: readonly Beside[];
  /** Of the last round trip, in seconds. */
  roundTrip: number;
  principal: string;
  /** What it measures itself. */
  own: Series;
  /** Null where the server cannot tell. */
  workers: readonly WorkerView[] | null;
}

/** What is looked at of the server that leads. */
export interface Leading {
  server: string;
  /** Why it is not ready; null where it is. */
  notReady: string | null;
  metrics: Series;
}

/** One of several addresses that a program was told. */
export interface Beside {
  server: string;
  /** Whether it is one of the servers on the same store, or why that could not be asked. */
  said: boolean | Error;
}

/** What is looked at, in the order in which it is told. */
export type Part =
  | 'server'
  | 'store'
  | 'disk'
  | 'objects'
  | 'clocks'
  | 'workers'
  | 'versions'
  | 'queue'
  | 'notify';

/** A problem keeps people from their work now; a warning will, or might. */
export interface Finding {
  about: Part;
  level: 'ok' | 'warning' | 'problem';
  says: string;
  /** What to do about it. */
  do?: string;
}

export const ok = (about: Part, says: string): Finding => ({ about, level: 'ok', says });
export const warning = (about: Part, says: string, act: string): Finding => ({
  ...{ about, level: 'warning', says },
  do: act,
});
export const problem = (about: Part, says: string, act: string): Finding => ({
  ...{ about, level: 'problem', says },
  do: act,
});
