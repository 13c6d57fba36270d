/** Seconds that nothing takes which comes at all. */
const LIMIT = 30;

/** Waits for what comes soon, without polling; the limit only keeps a broken system from hanging a run. */
export async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${LIMIT} s in vain for ${what}`)), LIMIT * 1000);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
