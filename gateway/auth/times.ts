const TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d))?$/;

/**
 * The time that a text of RFC 3339 says, in seconds since the epoch; a date alone is its first moment in UTC. Undefined
 * for anything else, such as a time without its zone, which would be another one on another machine.
 */
export function timeOf(text: string): number | undefined {
  const [, year, month, day] = TIME.exec(text) ?? [];
  const time = Date.parse(text.replace(' ', 'T'));
  if (day === undefined || Number.isNaN(time)) return undefined;
  // There is no 31st of February, and Date takes it for one of March.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  return isDay ? time / 1000 : undefined;
}

/** The same in words, to the second: `2027-01-31T18:00:00Z`. @param seconds since the epoch */
export const timeText = (seconds: number): string =>
  new Date(Math.round(seconds) * 1000).toISOString().replace('.000Z', 'Z');
