/** What the name of a column says when it is a place on the axis of a spectrum. */
export interface AxisPlace {
  value: number;
  /** As written, or null. */
  unit: string | null;
}

const NAME =
  /^(?:wavelength|wavenumber|wl|wn|nm|x|v|w)?[\s_.]*([+-]?\d+(?:[.,]\d+)?)[\s_.]*(nm|µm|μm|um|cm-1|cm\^-1|cm⁻¹|1\/cm)?$/i;

/** The place that a column name such as `900`, `900 nm`, `X900` or `1111,5` says; null for other names. */
export function axisPlace(name: string): AxisPlace | null {
  const found = NAME.exec(name.trim());
  if (!found) return null;
  return { value: Number((found[1] as string).replace(',', '.')), unit: found[2] ?? null };
}

/** From here on whole numbers in steps of one may be wavelengths; below, they count. */
const LEAST_COUNTED_PLACE = 100;

/**
 * Whether the names of columns only number them, as `V1`, `V2` … of R, or 0, 1, 2 … of a frame: numbers without a unit
 * that count, and no wavelengths.
 */
export function areNumbered(names: readonly string[]): boolean {
  const places = names.map(axisPlace);
  if (names.length < 2 || places.some((place) => place === null || place.unit !== null)) return false;
  if (names.every((name) => /^v[\s_.]*\d+$/i.test(name.trim()))) return true;
  const [first, ...others] = places.map((place) => place?.value as number) as [number, ...number[]];
  return (
    Number.isInteger(first) &&
    Math.abs(first) < LEAST_COUNTED_PLACE &&
    others.every((value, i) => value === first + i + 1)
  );
}

/** Whether values only rise or only fall; equal neighbours are let through unless `strictly`. */
export function isMonotone(values: readonly number[], strictly = true): boolean {
  const sign = Math.sign((values.at(-1) as number) - (values[0] as number));
  if (sign === 0) return false;
  return values.every((value, i) => {
    if (i === 0) return true;
    const step = (value - (values[i - 1] as number)) * sign;
    return strictly ? step > 0 : step >= 0;
  });
}
