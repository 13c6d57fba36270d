// By name, so that no test that plays with time reaches these.
import { clearTimeout, setTimeout } from 'node:timers';

/**
 * Waits for what comes soon, without polling; the limit, which nothing takes that comes at all, only keeps a broken
 * system from hanging a run.
 */
export async function inTime<T>(what: string, promise: Promise<T>, seconds = 60): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${seconds} s for ${what}`)), seconds * 1000);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
