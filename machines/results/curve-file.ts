/** How something goes along with a setting: one of `curves.json`. */
export interface SettingCurve {
  of: string;
  x: { name: string; values: number[] };
  series: Record<string, (number | null)[]>;
  chosen?: number;
}

/**
 * Reads `curves.json` (docs/runners.md#predictions-and-curves); what is not as described there is left out.
 * @throws Error if it is no JSON
 */
export function parseCurves(text: string): SettingCurve[] {
  const { curves } = JSON.parse(text) as { curves?: unknown };
  return Array.isArray(curves) ? (curves as SettingCurve[]).filter(isDrawn) : [];
}

function isDrawn(curve: SettingCurve): boolean {
  const { values } = curve?.x ?? {};
  if (typeof curve?.x?.name !== 'string' || !Array.isArray(values) || values.length < 2) return false;
  if (!values.every((value) => Number.isFinite(value))) return false;
  const series = Object.values(curve.series ?? {});
  return series.length > 0 && series.every((one) => Array.isArray(one) && one.length === values.length);
}
