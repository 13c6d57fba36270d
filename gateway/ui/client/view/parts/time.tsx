import { useComputed } from '@preact/signals';
import { ago, clockTime, dateTime } from '../../text/format.ts';
import { useDashboard } from '../context.ts';

const iso = (ts: number): string => new Date(ts * 1000).toISOString();

/** How long ago; the exact time is in the title. `ts` in seconds since the epoch. */
export function Ago({ ts }: { ts: number }) {
  const { ticker } = useDashboard();
  const text = useComputed(() => ago(ticker.now.value - ts));
  return (
    <time dateTime={iso(ts)} title={dateTime(ts)}>
      {text}
    </time>
  );
}

/** The time of day of something in a stream. */
export function Clock({ ts }: { ts: number }) {
  return (
    <time dateTime={iso(ts)} title={dateTime(ts)}>
      {clockTime(ts)}
    </time>
  );
}
