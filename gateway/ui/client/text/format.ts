/** How numbers, sizes and times are written. Pure; times in seconds since the epoch unless said otherwise. */

const grouped = new Intl.NumberFormat('en-GB');

export const count = (n: number): string => grouped.format(n);

const compact = new Intl.NumberFormat('en-GB', { notation: 'compact' });

/** `12`, `1.2k`, `10M`: where there is little room. */
export const rounded = (n: number): string => compact.format(n).toLowerCase().replace('m', 'M');

/** `1 task`, `2 tasks`. */
export const counted = (n: number, one: string, many = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : many}`;

/** A measured value with four significant digits; the whole of it belongs in the title. */
export function measured(value: unknown): string {
  if (typeof value !== 'number') return value === null || value === undefined ? '–' : String(value);
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return count(value);
  const text = value.toPrecision(4);
  return text.includes('e') ? String(Number(text)) : text;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(size: number): string {
  let unit = 0;
  let value = size;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

const STEPS: readonly [string, number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** A length of time in its largest unit: `42 s`, `5 min`, `3 h`, `12 d`. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  for (const [unit, size] of STEPS) if (whole >= size) return `${Math.floor(whole / size)} ${unit}`;
  return '0 s';
}

/** The same in its two largest units: `3 min 20 s`, `5 h 2 min`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const place = STEPS.findIndex(([, size]) => whole >= size);
  const [, size] = STEPS[place] ?? [];
  const next = STEPS[place + 1];
  if (size === undefined || next === undefined || whole % size < next[1]) return span(whole);
  return `${span(whole)} ${span(whole % size)}`;
}

export const ago = (seconds: number): string => (seconds < 1 ? 'now' : `${span(seconds)} ago`);

const two = (n: number) => String(n).padStart(2, '0');

/** `14:03:09`, in the reader's own zone. */
export function clockTime(ts: number): string {
  const date = new Date(ts * 1000);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `2025-03-09`, in the reader's own zone. */
export function date(ts: number): string {
  const day = new Date(ts * 1000);
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

/** `2025-03-09 14:03:09`, in the reader's own zone. */
export function dateTime(ts: number): string {
  return `${date(ts)} ${clockTime(ts)}`;
}

/** The end of an id: ids sort by time, so neighbours differ only there. */
export const tail = (id: string): string => (id.length > 10 ? `…${id.slice(-8)}` : id);
