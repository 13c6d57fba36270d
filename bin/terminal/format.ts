import { rankMetricOf } from '../../machines/ranking/table.ts';
import type { JobView } from '../../machines/schema/views.ts';
import { plain } from './plain.ts';

const two = (n: number) => String(n).padStart(2, '0');

/** `2025-06-01 09:30:00`, local time. @param ts seconds since the epoch */
export function dateTime(ts: number): string {
  if (!Number.isFinite(ts)) return '-';
  const d = new Date(ts * 1000);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(ts)}`;
}

/** `09:30:00`, local time. @param ts seconds since the epoch */
export function clock(ts: number): string {
  if (!Number.isFinite(ts)) return '-';
  const d = new Date(ts * 1000);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** A span in at most two units: `0.8 s`, `42 s`, `3 min 20 s`, `5 h 2 min`, `3 d 4 h`. @param s seconds */
export function duration(s: number): string {
  if (!Number.isFinite(s)) return '?';
  const seconds = Math.max(0, s);
  return seconds < 10 ? `${seconds.toFixed(1)} s` : wholeDuration(seconds);
}

/** The same in whole seconds. */
export function wholeDuration(s: number): string {
  const whole = Math.max(0, Math.round(s));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return units(whole, 60, 'min', 1, 's');
  if (whole < 86_400) return units(whole, 3600, 'h', 60, 'min');
  return units(whole, 86_400, 'd', 3600, 'h');
}

function units(seconds: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.floor((seconds % big) / small);
  const head = `${Math.floor(seconds / big)} ${bigName}`;
  return rest > 0 ? `${head} ${rest} ${smallName}` : head;
}

/** `3 min ago`, in one unit. @param s seconds */
export function ago(s: number): string {
  if (!Number.isFinite(s)) return '-';
  if (s < 1) return 'just now';
  const words = wholeDuration(s).split(' ');
  return `${words.slice(0, 2).join(' ')} ago`;
}

/** A size with a decimal unit: `512 B`, `1.4 MB`. */
export function bytes(n: number): string {
  let value = n;
  for (const unit of ['B', 'kB', 'MB', 'GB']) {
    if (value < 999.5)
      return `${unit === 'B' || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${unit}`;
    value /= 1000;
  }
  return `${value.toFixed(1)} TB`;
}

/** A metric for people: four significant digits, whole numbers in full, `-` for none. */
export function metric(value: unknown): string {
  if (typeof value !== 'number') return value === null || value === undefined ? '-' : String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(3) : value.toPrecision(4);
}

/** The best value of a job with its metric's name, `-` for none. @param strong what makes the number stand out */
export function bestOf({ aggregate }: JobView, strong = (text: string) => text): string {
  const { best_metric } = aggregate;
  return best_metric === null ? '-' : `${plain(rankMetricOf(aggregate))} ${strong(metric(best_metric))}`;
}

/** `1 task`, `2 tasks`. */
export function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** Breaks a text at spaces into lines of at most `width` columns, all indented; infinite: one line. */
export function wrap(text: string, indent: number, width = 80): string {
  const pad = ' '.repeat(indent);
  if (width === Infinity) return pad + text;
  const room = Math.max(width - indent - 1, 0);
  const lines = text.match(new RegExp(`\\S.{0,${room}}(?= |$)|\\S+`, 'g')) ?? [];
  return lines.map((line) => pad + line.trim()).join('\n');
}
