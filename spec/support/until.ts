import { setTimeout as delay } from 'node:timers/promises';
import { inTime } from './in-time.ts';

/**
 * Waits until a condition holds and returns its value. It looks again every few milliseconds; the limit only
 * keeps a broken test from hanging for ever and says what was waited for, also when the look itself gets no answer.
 */
export async function until<T>(
  what: string,
  condition: () => Promise<T | false | null | undefined> | T | false | null | undefined,
  seconds = 60,
): Promise<T> {
  let isOver = false;
  const held = async (): Promise<T> => {
    for (;;) {
      const value = await condition();
      if (value !== false && value !== null && value !== undefined) return value;
      if (isOver) throw new Error('nobody waits any more');
      await delay(5);
    }
  };
  try {
    return await inTime(what, held(), seconds);
  } finally {
    isOver = true;
  }
}
