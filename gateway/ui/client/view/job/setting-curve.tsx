import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { axisFor } from '../../../../../machines/results/axis.ts';
import type { SettingCurve } from '../../../../../machines/results/curve-file.ts';
import { measured } from '../../text/format.ts';
import { Choices } from '../parts/choices.tsx';
import { Plot, type Point } from '../parts/plot.tsx';

/** How a metric goes along with a setting, such as the number of components, and which was chosen. */
export function SettingCurvePlot({ of: { of, x, series, chosen } }: { of: SettingCurve }) {
  const metrics = Object.keys(series);
  const metric = useSignal(metrics[0] ?? '');
  const values = series[metric.value] ?? [];
  const drawn = useMemo(() => {
    const points = x.values.flatMap((at, i): Point[] => {
      const value = values[i];
      if (typeof value !== 'number') return [];
      return [{ x: at, y: value, words: `${x.name} ${at}: ${metric.value} ${measured(value)}` }];
    });
    return [{ name: metric.value, colour: 'var(--running)', points, joined: true }];
  }, [values]);
  const points = drawn[0]?.points ?? [];
  const marked = points.find((point) => point.x === chosen);
  const best = marked ? ` Chosen: ${marked.words}.` : '';
  return (
    <section class="plots" aria-label={`${of} by ${x.name}`}>
      <div class="plots-head">
        <Choices
          label="Which metric"
          options={metrics.map((value) => ({ value, label: value }))}
          chosen={metric.value}
          onChoose={(value) => {
            metric.value = value;
          }}
          small
        />
        <span class="muted">{of}</span>
      </div>
      <Plot
        key={metric.value}
        summary={`${metric.value} of ${of} by ${x.name}, for ${points.length} values.${best}`}
        name={`${metric.value}-by-${x.name}`}
        xLabel={x.name}
        yLabel={metric.value}
        x={axisFor(x.values, Math.min(10, x.values.length))}
        y={axisFor(points.map((point) => point.y))}
        series={drawn}
        marked={marked}
      />
      <p class="muted">{marked ? `chosen: ${marked.words}` : ''}</p>
    </section>
  );
}
