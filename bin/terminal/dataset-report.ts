import type { DatasetReport } from '../../actors/worker/runners/dataset-report.ts';
import { drawCurves } from './curves.ts';
import { counted, metric } from './format.ts';
import type { Colours } from './output.ts';
import { plain } from './plain.ts';

const HEIGHT = 10;
const WIDEST = 72;

/** A dataset as a person looks at it: what is there, and a picture of the spectra. */
export function datasetReport(
  path: string,
  report: DatasetReport,
  look: { colours: Colours; width: number | undefined },
): string {
  const { colours } = look;
  const { samples, test_samples, variables, axis, targets } = report;
  const test = test_samples > 0 ? `, ${test_samples} more to test on` : '';
  const rows: [string, string][] = [
    ['samples', `${samples}${test}`],
    ['variables', `${variables}${axis ? `, ${placeOf(axis.from, axis)} to ${placeOf(axis.to, axis)}` : ''}`],
    ...targets.map(({ name, min, max, mean }): [string, string] => [
      'target',
      `${plain(name ?? 'without a name')}, ${metric(min)} to ${metric(max)}, mean ${metric(mean)}`,
    ]),
  ];
  const head = `${colours.bold(plain(path))} can be read by ${plain(report.library)}`;
  const facts = rows.map(([name, text]) => `  ${colours.dim(name.padEnd(10))}${text}`);
  return [head, ...facts, '', ...picture(report, look), ''].join('\n');
}

/** One line for a dataset that is about to be uploaded. */
export function datasetLine(path: string, { samples, variables, targets }: DatasetReport): string {
  const names = targets.map(({ name }) => plain(name ?? 'a target without a name')).join(', ');
  return `${plain(path)}: ${counted(samples, 'sample')}, ${counted(variables, 'variable')}, ${names}`;
}

const placeOf = (value: number, { unit }: { unit: string | null }): string =>
  unit === null ? String(value) : `${value} ${plain(unit)}`;

function picture(
  { spectra, axis, samples }: DatasetReport,
  { colours, width }: { colours: Colours; width: number | undefined },
): string[] {
  if (spectra.length === 0 || (spectra[0] as number[]).length < 2) return [];
  const room = Math.max(20, Math.min(WIDEST, (width ?? 80) - 14));
  const { lines, min, max } = drawCurves(spectra, { width: room, height: HEIGHT });
  const labels = new Map([
    [0, metric(max)],
    [lines.length - 1, metric(min)],
  ]);
  const drawn = lines.map(
    (line, i) => `${colours.dim((labels.get(i) ?? '').padStart(11))} ${colours.cyan(line)}`,
  );
  const [from, to] = axis ? [placeOf(axis.from, axis), placeOf(axis.to, axis)] : ['', ''];
  const below = `${' '.repeat(12)}${from}${to.padStart(room - from.length)}`;
  const which = spectra.length < samples ? `${spectra.length} of the ${samples} spectra` : 'all spectra';
  const caption = colours.dim(`${' '.repeat(12)}${which}, one over the other`);
  return [...drawn, ...(axis ? [colours.dim(below)] : []), caption];
}
