import type { StateReport } from '../../actors/server/check/check.ts';
import { bytes, counted } from './format.ts';
import type { Colours } from './output.ts';
import { plain } from './plain.ts';

/** Lines of one kind that are shown; a report in JSON has all. */
const SHOWN = 20;

/** What a check of a state directory found, for people. */
export function stateReport(report: StateReport, { green, red, dim }: Colours): string {
  const { store, pages, rows, objects } = report;
  const word = (faults: number) => (faults === 0 ? green('whole') : red(counted(faults, 'fault')));
  const unknown = `${red('unknown')}, since the store cannot be read`;
  const lines = [
    `store    ${plain(store.path)}, ${bytes(store.bytes)}, version ${store.version}`,
    `pages    ${word(pages.length)}`,
    ...few(pages.map((line) => plain(line))),
    `rows     ${rows === null ? unknown : word(rows.length)}`,
    ...few(rowLines(rows ?? [])),
  ];
  if (objects === null) lines.push(`objects  ${unknown}`);
  else {
    lines.push(
      `objects  ${counted(objects.named, 'object')}, ${bytes(objects.bytes)}: ${word(objects.lost.length)}`,
    );
    lines.push(...few(lostLines(objects.lost)));
    if (objects.unnamed.length > 0) {
      lines.push(dim(`         ${counted(objects.unnamed.length, 'file')} that no artifact names:`));
      lines.push(...few(objects.unnamed.map((path) => dim(plain(path)))));
    }
  }
  if (!report.ok) {
    lines.push(
      '',
      'Restore the directory from a copy; an object alone is mended by uploading the same bytes again.',
    );
  }
  return lines.join('\n');
}

/** A line for each kind of rows that do not fit together. */
export const rowLines = (rows: NonNullable<StateReport['rows']>): string[] =>
  rows.map(({ what, rows: n, example }) => `${n} ${what}, such as ${plain(example)}`);

/** A line for each object that is lost. */
export const lostLines = (lost: NonNullable<StateReport['objects']>['lost']): string[] =>
  lost.map(({ sha256, artifact_id, artifacts, why }) => {
    const others = artifacts > 1 ? ` and ${artifacts - 1} more` : '';
    return `${sha256} of ${plain(artifact_id)}${others}: ${why}`;
  });

/** The first lines below a fact, and how many more there are. */
export function few(lines: readonly string[]): string[] {
  const more = lines.length > SHOWN ? [`         and ${lines.length - SHOWN} more; see --json`] : [];
  return [...lines.slice(0, SHOWN).map((line) => `         ${line}`), ...more];
}
