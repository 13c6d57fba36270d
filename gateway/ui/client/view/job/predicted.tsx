import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { axisFor } from '../../../../../machines/results/axis.ts';
import { figuresOf, type Prediction } from '../../../../../machines/results/predictions.ts';
import { counted, measured } from '../../text/format.ts';
import { Choices } from '../parts/choices.tsx';
import { filePart } from '../parts/file-name.tsx';
import { Plot, type Point, type Series } from '../parts/plot.tsx';
import type { ChosenSample } from './spectra.tsx';

/** Folds of up to so many have a colour each. */
const MOST_COLOURS = 12;
const PARTITIONS: Record<string, string> = {
  validation: 'cross-validation',
  test: 'test samples',
  predicted: 'predicted samples',
};

interface Props {
  of: readonly Prediction[];
  /** Where its spectrum is shown. */
  chosen: ChosenSample | undefined;
}

/** How predicted values of held-out samples compare with the measured ones. */
export function Predicted({ of: all, chosen }: Props) {
  const targets = [...new Set(all.map(({ target }) => target))];
  const target = useSignal(targets[0] ?? '');
  const kind = useSignal<'predicted' | 'residuals'>('predicted');
  const shown = useMemo(() => all.filter((one) => one.target === target.value), [all, target.value]);
  const partitions = [...new Set(shown.map(({ partition }) => partition))];
  const figures = partitions.map((partition) => ({
    name: PARTITIONS[partition] ?? partition,
    of: figuresOf(shown.filter((one) => one.partition === partition)),
  }));
  return (
    <section class="plots" aria-label="Predicted and measured values">
      <div class="plots-head">
        <Choices
          label="What is drawn"
          options={[
            { value: 'predicted', label: 'Predicted' },
            { value: 'residuals', label: 'Residuals' },
          ]}
          chosen={kind.value}
          onChoose={(value) => {
            kind.value = value;
          }}
          small
        />
        {targets.length > 1 && (
          <Choices
            label="Of which target"
            options={targets.map((value) => ({ value, label: value || 'unnamed' }))}
            chosen={target.value}
            onChoose={(value) => {
              target.value = value;
            }}
            small
          />
        )}
      </div>
      <Picture
        of={shown}
        target={target.value}
        kind={kind.value}
        summary={summaryOf(figures)}
        chosen={chosen}
      />
      {chosen && <p class="muted">A click on a point, or Enter, shows its spectrum.</p>}
      <dl class="figures">
        {figures.map(({ name, of: figure }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{counted(figure.count, 'sample')}</dd>
            <dd title={String(figure.r2)}>R² {measured(figure.r2)}</dd>
            <dd title={String(figure.rmse)}>RMSE {measured(figure.rmse)}</dd>
            <dd title={String(figure.bias)}>bias {measured(figure.bias)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

const summaryOf = (figures: readonly { name: string; of: ReturnType<typeof figuresOf> }[]): string =>
  figures
    .map(
      ({ name, of }) =>
        `${name}: ${counted(of.count, 'sample')}, RMSE ${measured(of.rmse)}, R² ${measured(of.r2)}`,
    )
    .join('; ');

interface PictureProps extends Props {
  target: string;
  kind: 'predicted' | 'residuals';
  summary: string;
}

function Picture({ of, target, kind, summary, chosen }: PictureProps) {
  const what = target || 'value';
  const isResidual = kind === 'residuals';
  const drawn = ({ y, prediction }: Prediction) => (isResidual ? prediction - y : prediction);
  const measuredValues = of.map(({ y }) => y);
  const series = useMemo(
    () => seriesOf(of, (one) => ({ x: one.y, y: drawn(one), words: wordsOf(one), one })),
    [of, kind],
  );
  // Both axes of one range, so that the line on which both are the same goes from corner to corner.
  const both = axisFor([...measuredValues, ...of.map(({ prediction }) => prediction)]);
  const x = isResidual ? axisFor(measuredValues) : both;
  const y = isResidual ? axisFor([0, ...of.map(drawn)]) : both;
  return (
    <Plot<PointOfOne>
      key={kind}
      summary={`${isResidual ? 'Predicted less measured' : 'Predicted against measured'} ${what}. ${summary}.`}
      name={`${kind}-${filePart(what)}`}
      xLabel={`measured ${what}`}
      yLabel={isResidual ? 'predicted less measured' : `predicted ${what}`}
      x={x}
      y={y}
      line={
        isResidual
          ? [
              { x: x.from, y: 0 },
              { x: x.to, y: 0 },
            ]
          : [
              { x: both.from, y: both.from },
              { x: both.to, y: both.to },
            ]
      }
      series={series}
      table={{
        head: ['sample', 'partition', 'fold', 'target', 'measured', 'predicted', 'residual'],
        row: ({ one }) => [
          ...[one.sample, one.partition, one.fold, one.target],
          ...[one.y, one.prediction, one.prediction - one.y],
        ],
      }}
      marked={series.flatMap(({ points }) => points).find(({ one }) => one === chosen?.value)}
      onChoose={
        chosen &&
        (({ one }) => {
          chosen.value = one;
        })
      }
    />
  );
}

function wordsOf({ sample, y, prediction, partition, fold }: Prediction): string {
  const where = fold === '' ? (PARTITIONS[partition] ?? partition) : `fold ${fold}`;
  return `sample ${sample}: measured ${measured(y)}, predicted ${measured(prediction)} (${where})`;
}

/** Where a prediction is drawn. */
type PointOfOne = Point & { one: Prediction };

/** A series for each fold, if they can be told apart by colours, and one for the test samples. */
function seriesOf(of: readonly Prediction[], pointOf: (one: Prediction) => PointOfOne): Series<PointOfOne>[] {
  const folds = new Set(of.map(({ fold }) => fold));
  const nameOf = ({ partition, fold }: Prediction) =>
    fold === '' || folds.size > MOST_COLOURS ? (PARTITIONS[partition] ?? partition) : `fold ${fold}`;
  return [...Map.groupBy(of, nameOf)].map(([name, members], i) => ({
    name,
    colour: name === PARTITIONS.test ? 'var(--text)' : hue(i),
    points: members.map(pointOf),
  }));
}

/** Colours far from each other, however many there are: turned by the golden angle. */
function hue(i: number): string {
  const angle = Math.round((212 + i * 137.5) % 360);
  return `light-dark(hsl(${angle} 65% 42%), hsl(${angle} 70% 68%))`;
}
