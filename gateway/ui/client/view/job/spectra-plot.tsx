import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { axisFor } from '../../../../../machines/results/axis.ts';
import { csvLine } from '../../../../../machines/results/csv.ts';
import type { Spectra } from '../../../../../machines/results/spectra.ts';
import { counted, measured } from '../../text/format.ts';
import { NEAR, PlotFrame, PlotKeys, scaleOf } from '../parts/plot-frame.tsx';

interface Props {
  of: Spectra;
  kind: 'raw' | 'preprocessed';
  /** Place of the sample that stands out; -1 for none. */
  chosen: number;
}

const COLOURS: Record<string, string> = {
  train: 'var(--running)',
  test: 'light-dark(hsl(25 90% 38%), hsl(32 85% 62%))',
};
const PARTITIONS: Record<string, string> = { train: 'training', test: 'test' };
const UNITS: Record<string, string> = {
  nm: 'wavelength (nm)',
  µm: 'wavelength (µm)',
  'cm-1': 'wavenumber (cm⁻¹)',
  column: 'column',
};

/** A line for each sample; that which is chosen or pointed at stands out. */
export function SpectraPlot({ of: spectra, kind, chosen }: Props) {
  const { samples, axis, values } = spectra;
  /** Of the pointer, the column that it is at as well. */
  const pointed = useSignal<{ sample: number; column: number | null } | null>(null);
  const axes = useMemo(() => ({ x: axisFor(axis.values), y: axisFor(values.flat()) }), [spectra]);
  const { toX, toY } = scaleOf(axes);
  const lineOf = (row: readonly number[]) =>
    row
      .map(
        (value, j) =>
          `${j === 0 ? 'M' : 'L'}${toX(axis.values[j] as number).toFixed(1)} ${toY(value).toFixed(1)}`,
      )
      .join('');
  // Once, and not at each move of the pointer: they are many.
  const lines = useMemo(
    () =>
      values.map((row, i) => (
        <path
          key={i}
          class="plot-spectrum"
          style={{ stroke: COLOURS[samples.partitions[i] as string] ?? COLOURS.train }}
          d={lineOf(row)}
        />
      )),
    [spectra],
  );
  const shown = pointed.value?.sample ?? chosen;
  const outstanding = values[shown];
  const partitions = [...new Set(samples.partitions)];

  const nearestTo = (at: { x: number; y: number }) => {
    const column = least(axis.values, (value) => Math.abs(toX(value) - at.x));
    const sample = least(values, (row) => Math.abs(toY(row[column] as number) - at.y));
    const isNear =
      Math.abs(toX(axis.values[column] as number) - at.x) <= NEAR &&
      Math.abs(toY(values[sample]?.[column] as number) - at.y) <= NEAR;
    return isNear ? { sample, column } : null;
  };
  const wordsAt = (sample: number, column: number | null) => {
    const [name, partition] = [samples.names[sample], samples.partitions[sample] as string];
    const where = PARTITIONS[partition] ?? partition;
    if (column === null) return `sample ${name} (${where}), spectrum ${sample + 1} of ${values.length}`;
    const place = `${axis.unit === 'column' ? 'column ' : ''}${axis.values[column]}`;
    const unit = axis.unit === null || axis.unit === 'column' ? '' : ` ${axis.unit}`;
    return `sample ${name} (${where}): ${measured(values[sample]?.[column] as number)} at ${place}${unit}`;
  };
  return (
    <PlotFrame
      summary={`${kind === 'raw' ? 'Spectra as they were read' : 'Spectra after preprocessing'}, of ${counted(values.length, 'sample')}.`}
      name={`spectra-${kind}`}
      xLabel={axis.unit === null ? 'axis, without a unit' : (UNITS[axis.unit] ?? axis.unit)}
      yLabel={kind === 'raw' ? 'as measured' : 'after preprocessing'}
      {...axes}
      steps={{
        count: values.length,
        place: pointed.value?.sample ?? -1,
        words: pointed.value && wordsAt(pointed.value.sample, pointed.value.column),
      }}
      onStep={(sample) => {
        pointed.value = { sample, column: null };
      }}
      onPoint={(at) => {
        pointed.value = at && nearestTo(at);
      }}
      csv={() => [
        csvLine(['sample', 'partition', ...axis.values]),
        ...values.map((row, i) =>
          csvLine([samples.names[i] as string, samples.partitions[i] as string, ...row]),
        ),
      ]}
      keys={
        partitions.length > 1 && (
          <PlotKeys
            of={partitions.map((name) => ({
              name: `${PARTITIONS[name] ?? name} samples`,
              colour: COLOURS[name] ?? (COLOURS.train as string),
            }))}
          />
        )
      }
    >
      {lines}
      {outstanding && <path class="plot-outstanding" d={lineOf(outstanding)} />}
    </PlotFrame>
  );
}

/** The place of what is the least by a measure. */
function least<One>(all: readonly One[], measure: (one: One) => number): number {
  let found = 0;
  let smallest = Number.POSITIVE_INFINITY;
  for (const [i, one] of all.entries()) {
    const size = measure(one);
    if (size < smallest) [found, smallest] = [i, size];
  }
  return found;
}
