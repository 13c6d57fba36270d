import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Candidate } from '../candidate.ts';
import { endSession, type Holder, holderOf, releaseLock, TURNS, tryLock, WAITS } from './lock.ts';
import { type Beat, beatOf, isPresent } from './presence.ts';
import { LEASE_MS, untilSilent } from './sessions.ts';

/* A server that waits for the store until it is its own. */

/** Milliseconds for which a server that starts waits for the end of one that was just stopped, before it stands by. */
const PATIENCE_MS = 1000;
/** Milliseconds between two looks, while it is patient and afterwards. */
const LOOK_MS = { patient: 50, later: 500 };
/** Milliseconds for which one that has lost the session of its turns, but is there, is waited for. */
const COMEBACK_MS = 2000;

/** What is seen of the other one. */
interface Rival {
  holder: Holder;
  beat: Beat | null;
}

/** Takes the lock, however long that takes. Rejects when the connection breaks, or the candidate gives up. */
export async function standBy(
  client: Client,
  candidate: Pick<Candidate, 'leaderSeen' | 'givesUp'>,
): Promise<void> {
  // One that was killed loses its session, and the lock with it, at once; this is for one that is stopped, or cut off.
  const silence = new Silence();
  const comeback = new Comeback();
  const answer = <T>(work: Promise<T>) => untilSilent(client, work, LEASE_MS);
  const patientUntil = performance.now() + PATIENCE_MS;
  for (;;) {
    candidate.givesUp.throwIfAborted();
    if (await answer(tryLock(client))) {
      if (!(await answer(comeback.isAwaited(client)))) return;
      await answer(releaseLock(client));
      await pause(LOOK_MS.patient, undefined, { signal: candidate.givesUp });
      continue;
    }
    const isPatient = performance.now() < patientUntil;
    const rival = isPatient ? null : await answer(rivalOf(client));
    if (rival !== null) {
      candidate.leaderSeen(leaderIn(rival));
      comeback.holds(rival.beat);
      if (silence.isOver(rival)) {
        comeback.isOver();
        await answer(endSession(client, rival.holder));
      }
    }
    const wait = isPatient ? LOOK_MS.patient : LOOK_MS.later;
    await pause(wait, undefined, { signal: candidate.givesUp });
  }
}

/**
 * A server that leads may lose the session of its turns alone. As long as its others stand it is there, and is given a moment
 * to come back for the lock; whose process has ended has none.
 */
class Comeback {
  /** The server that had the lock when it was last looked. */
  #server: string | null = null;
  #until = 0;

  holds(beat: Beat | null): void {
    this.#server = beat?.server || null;
    this.#until = 0;
  }

  /** That server is not waited for. */
  isOver(): void {
    this.#server = null;
  }

  async isAwaited(client: Client): Promise<boolean> {
    if (this.#server === null) return false;
    this.#until ||= performance.now() + COMEBACK_MS;
    if (performance.now() >= this.#until) return false;
    const beat = await beatOf(client);
    return beat?.server === this.#server && (await isPresent(client, this.#server));
  }
}

/** Null where nobody has the store: one that waits as this one does only looks. */
async function rivalOf(client: Client): Promise<Rival | null> {
  const holder = await holderOf(client);
  return holder && holder.session !== WAITS ? { holder, beat: await beatOf(client) } : null;
}

function leaderIn({ holder, beat }: Rival) {
  const isNoted = beat !== null && beat.place !== '' && holder.session === TURNS;
  return isNoted
    ? { place: beat.place, address: beat.address }
    : { place: holder.place ?? 'elsewhere', address: null };
}

/** For how long a server that leads has not counted on. */
class Silence {
  #seen = '';
  #lookedAt = 0;
  #silentMs = 0;

  /** Who migrates the store says nothing, and is left in peace; so is a program that knows of no counting. */
  isOver({ holder, beat }: Rival): boolean {
    const seen = `${holder.pid} ${beat?.beat}`;
    const now = performance.now();
    // Where this server, or the database, stood still, that is not held against the other one.
    this.#silentMs =
      seen === this.#seen ? this.#silentMs + Math.min(now - this.#lookedAt, 2 * LOOK_MS.later) : 0;
    this.#seen = seen;
    this.#lookedAt = now;
    return beat !== null && holder.session === TURNS && this.#silentMs >= LEASE_MS;
  }
}
