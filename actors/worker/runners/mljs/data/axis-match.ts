import { InputError } from '../../../errors.ts';
import { areNumbered, axisPlace, isMonotone } from './axis.ts';

/** Where the columns of spectra lie. */
export interface Axis {
  values: number[];
  /** As people write it, such as `nm`; null where no column says it. */
  unit: string | null;
}

/** Spectra as their file has them: their axis, null where their columns are not named by one, and how many there are. */
export interface Places {
  axis: Axis | null;
  columns: number;
}

/** How spectra were brought to the axis of a model. */
export interface Alignment {
  how: 'same' | 'reordered' | 'interpolated' | 'unchecked';
  /** What a person should know of it. */
  warning: string | null;
  apply(row: readonly number[]): number[];
}

/** Places that differ by less than this share of a step are the same: programs round them. */
const ROUNDING = 1e-3;

/** The axis that the names of columns say; null where one of them says none, or they only number the columns. */
export function axisOf(columns: readonly string[] | null): Axis | null {
  const places = (columns ?? []).map(axisPlace);
  if (places.length === 0 || places.includes(null) || areNumbered(columns ?? [])) return null;
  const unit = places.find((place) => place?.unit)?.unit ?? null;
  return { values: places.map((place) => place?.value as number), unit: unit && plainUnit(unit) };
}

/** One way to write each unit. */
function plainUnit(unit: string): string {
  const small = unit.toLowerCase();
  if (small === 'nm') return 'nm';
  return small.includes('cm') ? 'cm-1' : 'µm';
}

/**
 * Finds how spectra go with a model: as they are, with their columns in another order, or, where that is asked for,
 * interpolated linearly. They are never extrapolated.
 *
 * @param source how messages call the spectra
 * @throws InputError, with both axes, where they do not go with it
 */
export function alignTo(
  model: Places,
  { source, ...data }: Places & { source: string },
  interpolate: boolean,
): Alignment {
  if (!model.axis || !data.axis) return unchecked(model, data, source, interpolate);
  const both = `${source}: its spectra lie on ${describe(data)}, those of the model on ${describe(model)}`;
  const units = [model.axis.unit, data.axis.unit];
  if (units[0] !== units[1] && !units.includes(null)) {
    throw new InputError(`${both}; spectra of another unit are not converted`);
  }
  const order = matchPlaces(model.axis.values, data.axis.values);
  if (order !== null) {
    if (order.every((from, to) => from === to))
      return { how: 'same', warning: null, apply: (row) => [...row] };
    const warning = `${source}: its columns stand in another order than those of the model, and were put into that`;
    return { how: 'reordered', warning, apply: (row) => order.map((from) => row[from] as number) };
  }
  const reason = whyNotInterpolated(model.axis.values, data.axis);
  if (reason !== null) throw new InputError(`${both}${differing(model.axis, data.axis)}; ${reason}`);
  if (!interpolate) {
    throw new InputError(
      `${both}${differing(model.axis, data.axis)}; with params.interpolate: true (--interpolate) they are interpolated`,
    );
  }
  return {
    how: 'interpolated',
    warning: `${both}; they were interpolated`,
    apply: interpolator(model.axis, data.axis),
  };
}

/** Where only one side says its axis, or neither, as many columns are taken for the same, and that is told. */
function unchecked(model: Places, data: Places, source: string, interpolate: boolean): Alignment {
  const found = data.axis ? `lie on ${describe(data)}` : `have ${data.columns} columns without wavelengths`;
  const expected = model.axis
    ? `those of the model lie on ${describe(model)}`
    : `those of the model had ${model.columns} columns without wavelengths`;
  const both = `${source}: its spectra ${found}, ${expected}`;
  if (model.columns !== data.columns) throw new InputError(both);
  if (interpolate) throw new InputError(`${both}; without both axes nothing can be interpolated`);
  return {
    how: 'unchecked',
    warning: model.axis || data.axis ? `${both}; they were taken for the same` : null,
    apply: (row) => [...row],
  };
}

function describe({ axis, columns }: Places): string {
  const { values, unit } = axis as Axis;
  return `${values[0]} to ${values.at(-1)}${unit ? ` ${unit}` : ''} (${columns} columns)`;
}

/** Of two axes that read alike by their ends, where they are not. */
function differing(model: Axis, data: Axis): string {
  const isAlike =
    model.values.length === data.values.length &&
    model.values[0] === data.values[0] &&
    model.values.at(-1) === data.values.at(-1);
  if (!isAlike) return '';
  const place = model.values.findIndex((value, i) => value !== data.values[i]);
  return `, and column ${place + 1} is ${data.values[place]} instead of ${model.values[place]}`;
}

/** For each place of the model, the column of the data that lies there; null unless each has one and all are taken. */
function matchPlaces(model: readonly number[], data: readonly number[]): number[] | null {
  if (model.length !== data.length) return null;
  const sorted = (values: readonly number[]) =>
    [...values.keys()].sort((a, b) => (values[a] as number) - (values[b] as number));
  const [ours, theirs] = [sorted(model), sorted(data)];
  const order = new Array<number>(model.length);
  for (const [i, place] of ours.entries()) {
    const [column, value] = [theirs[i] as number, model[place] as number];
    const before = i === 0 ? Number.NEGATIVE_INFINITY : (model[ours[i - 1] as number] as number);
    const after = i === ours.length - 1 ? Number.POSITIVE_INFINITY : (model[ours[i + 1] as number] as number);
    const step = Math.min(value - before, after - value);
    if (Math.abs((data[column] as number) - value) > (Number.isFinite(step) ? step * ROUNDING : 0))
      return null;
    order[place] = column;
  }
  // What stands twice can be told apart by nothing but its place.
  return new Set(model).size === model.length || order.every((from, to) => from === to) ? order : null;
}

function whyNotInterpolated(wanted: readonly number[], { values, unit }: Axis): string | null {
  if (values.length < 2 || !isMonotone(values)) return 'an axis in no order cannot be interpolated';
  const range = (of: readonly number[]) => [Math.min(...of), Math.max(...of)] as const;
  const [[low, high], [least, most]] = [range(values), range(wanted)];
  if (least >= low && most <= high) return null;
  const end = least < low ? low : high;
  return `they cannot be interpolated beyond their end at ${end}${unit ? ` ${unit}` : ''}`;
}

/** Straight lines between neighbours, as numpy.interp draws them. */
function interpolator(model: Axis, { values }: Axis): Alignment['apply'] {
  const rises = (values.at(-1) as number) > (values[0] as number);
  const at = (i: number) => values[rises ? i : values.length - 1 - i] as number;
  const steps = model.values.map((wanted) => {
    let right = 1;
    while (right < values.length - 1 && at(right) < wanted) right++;
    const share = (wanted - at(right - 1)) / (at(right) - at(right - 1));
    const column = (i: number) => (rises ? i : values.length - 1 - i);
    return { left: column(right - 1), right: column(right), share };
  });
  return (row) =>
    steps.map(({ left, right, share }) => {
      const [a, b] = [row[left] as number, row[right] as number];
      // Exactly what was measured, where it was.
      return share === 0 ? a : share === 1 ? b : a + (b - a) * share;
    });
}
