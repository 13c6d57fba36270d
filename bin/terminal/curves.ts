import { Canvas } from './canvas.ts';

/** A picture of curves, each a list of values at equal distances, as lines of braille characters. */
export function drawCurves(
  curves: readonly (readonly number[])[],
  size: { width: number; height: number },
): { lines: string[]; min: number; max: number } {
  const [min, max] = rangeOf(curves);
  const canvas = new Canvas(size);
  const { columns, rows } = canvas;
  const dot = (x: number, y: number) => canvas.dot(x, y);
  const heightOf = (value: number) => Math.round(((max - value) / (max - min || 1)) * (rows - 1));
  for (const curve of curves) {
    let before: number | null = null;
    for (let x = 0; x < columns; x++) {
      const y = heightOf(valueAt(curve, x / (columns - 1)));
      // A steep flank is drawn whole, not only where its columns are.
      const start: number = before ?? y;
      for (let i = 1; i < Math.abs(y - start); i++) dot(x, start + i * Math.sign(y - start));
      dot(x, y);
      before = y;
    }
  }
  return { lines: canvas.lines, min, max };
}

/** @param place from 0 to 1 */
function valueAt(curve: readonly number[], place: number): number {
  const at = place * (curve.length - 1);
  const left = Math.floor(at);
  const low = curve[left] as number;
  const high = curve[Math.min(left + 1, curve.length - 1)] as number;
  return low + (high - low) * (at - left);
}

function rangeOf(curves: readonly (readonly number[])[]): [number, number] {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const curve of curves) {
    for (const value of curve) {
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  return [min, max];
}
