/** Seconds of a unit, as people write lengths of time. */
const UNITS = { s: 1, min: 60, h: 3600, d: 86_400 };
/** Longest that may be written. */
const LONGEST = 10_000 * UNITS.d;

/** The seconds of a length of time such as `30min`, `24h` or `7d`; null where it is none, or 0, or above 10,000 days. */
export function secondsIn(text: string): number | null {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?) ?(s|min|h|d)$/.exec(text.trim()) ?? [];
  const seconds = Number(digits) * (UNITS[unit as keyof typeof UNITS] ?? 0);
  return seconds > 0 && seconds <= LONGEST ? seconds : null;
}
