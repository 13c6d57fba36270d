import { type Figures, objectsAnArtifact, type Sizes } from './measure.ts';
import type { YearOutcome } from './run.ts';

/** So many times what they are at the end of the second month, store, memory and times may be at the end. */
export const MOST = 1.2;

const UNITS: Record<keyof Figures, string> = {
  ...{ store: 'MiB of the store', objects: 'KiB of objects, an artifact', memory: 'MiB of memory, resident' },
  ...{
    start: 'ms of a start',
    submit: 'ms of a submission',
    lease: 'ms of a lease',
    complete: 'ms of a report',
  },
};
const NAMES = Object.keys(UNITS) as (keyof Figures)[];

/** What has grown by more than it may, in words. */
export function growthOf(outcome: YearOutcome): string[] {
  const { figures, months } = outcome;
  const second: Partial<Figures> = figures?.second ?? ofMonth(months[1]);
  const last: Partial<Figures> = figures?.last ?? ofMonth(months.at(-1));
  const names = figures ? NAMES : (['store', 'objects'] as const);
  return names.flatMap((name) => {
    const [from, to] = [second[name] as number, last[name] as number];
    return to <= MOST * from ? [] : [`${UNITS[name]}: from ${show(from)} to ${show(to)}`];
  });
}

const ofMonth = (sizes: Sizes | undefined): Partial<Figures> =>
  sizes ? { store: sizes.store, objects: objectsAnArtifact(sizes) } : {};

/** The section of the report. */
export function sectionOf(outcome: YearOutcome, command: string, machine: string, seconds: number): string {
  const { days, counts, months, figures, withoutFullDisk } = outcome;
  const perYear = (count: number) => Math.round((count * 365) / days);
  const happened = Object.entries({
    'Simulated days, real seconds': `${days}, ${seconds}`,
    'Jobs, tasks (a year)': `${counts.submitted}, ${counts.tasks} (${perYear(counts.submitted)}, ${perYear(counts.tasks)})`,
    'Jobs that were deleted': counts.deleted,
    'Requests, refused': `${counts.requests}, ${counts.refused}`,
    'Workers that registered': counts.workers,
    'Crashes, restarts in order, upgrades': `${counts.crashes}, ${counts.restarts}, ${counts.upgrades}`,
    'Rotations of tokens': counts.rotations,
    'Full disks': withoutFullDisk === null ? counts.fullDisks : `none: ${withoutFullDisk}`,
    'Backups, restored, compared and served': `${counts.backups}, ${counts.restored}`,
    'Nights on which all rows were held against the events': counts.looks,
    'Lost, or back after it was deleted': 0,
  });
  const grown = NAMES.map((name) => {
    const [from, to] = [figures?.second[name] ?? Number.NaN, figures?.last[name] ?? Number.NaN];
    return `| ${UNITS[name]} | ${show(from)} | ${show(to)} | ${(to / from).toFixed(2)} |`;
  });
  const monthly = months.map(
    ({ store, objects, jobs, tasks, events, artifacts, memory }, i) =>
      `| ${i + 1} | ${show(store)} | ${show(objects)} | ${jobs} | ${tasks} | ${events} | ${artifacts} | ${show(memory)} |`,
  );
  return `${machine} \`${command}\`; state directories in memory where the machine has such a place.

| What | How often |
| ---- | --------- |
${happened.map(([name, figure]) => `| ${name} | ${figure} |`).join('\n')}

The state of the second month's end and that of the last, served side by side by the same program; each figure is the
least of several.

| What | Second month | Last month | Ratio |
| ---- | -----------: | ---------: | ----: |
${grown.join('\n')}

At the end of each month (a twelfth of the days), beside the running server:

| Month | Store, MiB | Objects, MiB | Jobs | Tasks | Events | Artifacts | Memory, MiB |
| ----: | ---------: | -----------: | ---: | ----: | -----: | --------: | ----------: |
${monthly.join('\n')}`;
}

const show = (value: number): string => value.toFixed(value < 10 ? 2 : 1);
