import { useComputed } from '@preact/signals';
import { remainingWords } from '../../../../../machines/job/remaining.ts';
import type { JobView } from '../../../../../machines/schema/views.ts';
import { ago, clockTime, counted, dateTime, duration } from '../../text/format.ts';
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

/** How long something goes on since `since`, in seconds since the epoch. */
export function Elapsed({ since }: { since: number }) {
  const { ticker } = useDashboard();
  return <>{useComputed(() => duration(ticker.now.value - since))}</>;
}

/** How long a job will still take; when it is expected to end is in the title. */
export function Remaining({ of }: { of: NonNullable<JobView['estimate']> }) {
  const { ticker } = useDashboard();
  const title = `ends at ${dateTime(of.ends_at)}, between ${clockTime(of.earliest)} and ${clockTime(of.latest)}, if what is left is like the ${counted(of.num_timed, 'task')} that ended`;
  return <span title={title}>{remainingWords(of, ticker.now.value, duration)}</span>;
}

/** The time of day of something in a stream. */
export function Clock({ ts }: { ts: number }) {
  return (
    <time dateTime={iso(ts)} title={dateTime(ts)}>
      {clockTime(ts)}
    </time>
  );
}
