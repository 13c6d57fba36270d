import { sql } from '../../store/sql.ts';
import { eachMember } from '../../store/sql-words.ts';
import type { Store } from '../../store/store.ts';
import type { Step } from '../work.ts';

/** Seconds by which the clock may have moved on between two passes; and for which it has to be as it is, where it is more. */
const DAY = 86_400;
/** Seconds that a clock goes back when it is corrected. */
const CORRECTION = 3600;
/** Seconds that a server may have been off for, and still goes on doubting where it was. */
const AWAY = 14 * DAY;
/** Seconds that count of a longer time in which it was off. */
const OFF = DAY / 4;

/** What is believed of the clock, in seconds since the epoch. */
interface Belief {
  believed: number | null;
  /** Since when the clock has been where it is not believed to be, and where it was last; null while it is believed. */
  doubted_since: number | null;
  doubted_last: number | null;
  /** For how long it has gone on there while the server ran. */
  doubted_for: number | null;
}

/**
 * What is old is judged by the wall clock, which may be wrong: a clock that is a year ahead for an hour must not delete
 * what a year has not passed for. One that went on by more than a day from one pass to the next is believed a day later,
 * if it has gone on steadily until then; until that nothing becomes due. What was believed is in the store, so that a
 * server that starts with a wrong clock does not believe it either.
 */
export const believeClock: Step = async function* ({ store, clock, alone, time, log }) {
  const now = clock.now();
  const before = await beliefOf(store);
  const next = judge(before, now);
  await alone(async (turn) => {
    turn.further.push({
      sql: sql`INSERT INTO numbers (name, last) SELECT key, value FROM ${eachMember('?', 'double precision')} WHERE true
        ON CONFLICT (name) DO UPDATE SET last = excluded.last`,
      params: [JSON.stringify(next)],
    });
  });
  time.believed = next.believed;
  if (next.doubted_since === now)
    log.warn(
      { clock: now, believed: next.believed },
      'the clock of this machine has jumped ahead: nothing is deleted by it before it has gone on steadily for a day',
    );
  yield;
};

function judge({ believed, doubted_since, doubted_last, doubted_for }: Belief, now: number) {
  const known = believed ?? now;
  const trusted = { believed: now, doubted_since: 0, doubted_last: 0, doubted_for: 0 };
  if (now <= known + DAY) return trusted;
  const isSteady =
    doubted_since && doubted_last && now >= doubted_last - CORRECTION && now <= doubted_last + AWAY;
  if (!isSteady) return { believed: known, doubted_since: now, doubted_last: now, doubted_for: 0 };
  // A server that is on for some hours now and then believes it after some of them.
  const gap = Math.max(0, now - doubted_last);
  const lived = (doubted_for ?? 0) + (gap <= DAY ? gap : OFF);
  if (lived >= DAY) return trusted;
  return { believed: known, doubted_since, doubted_last: now, doubted_for: lived };
}

/** Of a store that has none, what its last event tells. */
async function beliefOf({ queries }: Store): Promise<Belief> {
  const number = (name: keyof Belief) => `(SELECT last FROM numbers WHERE name = '${name}')`;
  const found = await queries.get<Belief>(
    `SELECT coalesce(${number('believed')}, (SELECT ts FROM events ORDER BY id DESC LIMIT 1)) AS believed,
            ${number('doubted_since')} AS doubted_since, ${number('doubted_last')} AS doubted_last,
            ${number('doubted_for')} AS doubted_for`,
  );
  return found ?? { believed: null, doubted_since: null, doubted_last: null, doubted_for: null };
}
