/** Above it there is no class. */
export const TIME_CLASSES = 2 ** 13;

/** Two limits are of the same class where these digits of them are alike, rounded up. */
const DIGITS = 3;
const SMALLEST = 10 ** (DIGITS - 1);
const STEPS = 10 ** DIGITS - SMALLEST;
/** A thousand years and more are one class. */
const MOST_ZEROS = 7;

/**
 * A time in seconds as a number from 1 on, so that of all times there are few: whole seconds up to a thousand, of longer
 * ones three digits, always rounded up.
 */
export function timeClass(seconds: number): number {
  const whole = Math.max(1, Math.ceil(seconds));
  const zeros = Math.min(MOST_ZEROS, Math.max(0, Math.floor(Math.log10(whole)) - DIGITS + 1));
  const digits = Math.min(10 ** DIGITS, Math.ceil(whole / 10 ** zeros));
  return zeros * STEPS + digits;
}

/** The longest time of a class. */
export function classSeconds(timeClass: number): number {
  if (timeClass < 10 ** DIGITS) return timeClass;
  const zeros = Math.min(MOST_ZEROS, Math.floor((timeClass - SMALLEST) / STEPS));
  return (timeClass - zeros * STEPS) * 10 ** zeros;
}
