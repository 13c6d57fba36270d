import type { ReadonlySignal } from '@preact/signals';
import { useComputed } from '@preact/signals';
import type { StatsMinute } from '../../../../machines/schema/views.ts';
import { cappedScale, type Scale, wholeScale } from '../model/chart-scale.ts';
import { count } from '../text/format.ts';
import { useDashboard } from './context.ts';
import { Chart, type Curve } from './parts/chart.tsx';
import { LoadFault } from './parts/section.tsx';

const THROUGHPUT: readonly Curve<StatsMinute>[] = [
  { key: 'succeeded', label: 'succeeded', colour: '--succeeded', fill: true },
  { key: 'failed', label: 'failed', colour: '--failed' },
  { key: 'submitted', label: 'submitted', colour: '--muted', dash: [3, 3] },
];
const QUEUE: readonly Curve<StatsMinute>[] = [
  { key: 'queued', label: 'waiting', colour: '--running', fill: true },
  { key: 'workers_alive', label: 'workers', colour: '--cancelling', dash: [3, 3] },
];

/** The last hour, minute by minute. */
export function Curves() {
  const { cluster } = useDashboard();
  const sum = (minutes: readonly StatsMinute[], key: 'succeeded' | 'failed' | 'submitted') =>
    minutes.reduce((total, minute) => total + minute[key], 0);
  const throughput = useComputed(() => {
    const minutes = cluster.history.value;
    return (
      `Tasks a minute over the last hour: ${count(sum(minutes, 'succeeded'))} succeeded, ` +
      `${count(sum(minutes, 'failed'))} failed, ${count(sum(minutes, 'submitted'))} submitted.`
    );
  });
  const queue = useComputed(() => {
    const waiting = cluster.history.value.map(({ queued }) => queued);
    return (
      `Waiting tasks over the last hour: now ${count(waiting.at(-1) ?? 0)}, ` +
      `at most ${count(Math.max(0, ...waiting))}.`
    );
  });
  return (
    <>
      <CurveCard
        title="Throughput"
        unit="/ min"
        curves={THROUGHPUT}
        summary={throughput}
        scaleOf={cappedScale}
      />
      <CurveCard title="Queue" unit="tasks" curves={QUEUE} summary={queue} scaleOf={wholeScale} />
    </>
  );
}

interface CardProps {
  title: string;
  unit: string;
  curves: readonly Curve<StatsMinute>[];
  summary: ReadonlySignal<string>;
  scaleOf: (values: readonly number[]) => Scale;
}

function CurveCard(props: CardProps) {
  const { cluster } = useDashboard();
  return (
    <section class="card curve" aria-label={props.title}>
      <LoadFault of={cluster.historyRefresher} what="The last hour" />
      <Chart {...props} rows={cluster.history} />
    </section>
  );
}
