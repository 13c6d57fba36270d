import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until a condition holds and returns its value. It looks again every few milliseconds; the limit only
 * keeps a broken test from hanging for ever and says what was waited for.
 */
export async function until<T>(
  what: string,
  condition: () => Promise<T | false | null | undefined> | T | false | null | undefined,
  seconds = 30,
): Promise<T> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined) return value;
    if (performance.now() > end) throw new Error(`waited ${seconds} s in vain for: ${what}`);
    await delay(5);
  }
}
