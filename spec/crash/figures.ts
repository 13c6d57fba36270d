import { machineLine } from '../support/report.ts';
import type { LifeFigures } from './life.ts';
import type { MigrationFigures } from './migration.ts';

export interface LoopFigures {
  seed: number;
  seconds: number;
  lives: readonly LifeFigures[];
  migrations: readonly MigrationFigures[];
}

const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
const listed = (counts: Record<string, number>) =>
  Object.entries(counts)
    .map(([name, n]) => `${name} ${n}`)
    .join(', ');

/** Everything that was found wrong. */
export const faultsOf = ({ lives, migrations }: LoopFigures): string[] =>
  [...lives, ...migrations].flatMap((figures) => figures.faults);

/** The section of the report, as Markdown. */
export function sectionOf(figures: LoopFigures): string {
  const { seed, seconds, lives, migrations } = figures;
  const rounds = together(lives.map((life) => life.rounds));
  const acknowledged = together(lives.map((life) => life.acknowledged));
  return `${machineLine()} Seeds from ${seed}, ${Math.round(seconds)} s.

| What | Figure |
| --- | --- |
| servers killed | ${sum(Object.values(rounds))} (${listed(rounds)}) |
| workers killed | ${sum(lives.map((life) => life.workerKills))} |
| workers copied while they worked / made ill | ${sum(lives.map((life) => life.clones))} / ${sum(lives.map((life) => life.sicknesses))} |
| times that the server, or all but the clients, stood still for longer than a lease | ${sum(lives.map((life) => life.standstills))} |
| objects whose bytes rotted or were gone after a crash, found out and mended | ${sum(lives.map((life) => life.spoilt))} |
| servers killed between two slices of a job of 1,000 tasks that they cancelled or retried | ${sum(lives.map((life) => life.halfWay))} |
| tasks that refitted what a job selected | ${sum(lives.map((life) => life.refits))} |
${migrations.length > 0 ? `| migrations killed | ${sum(migrations.map(({ killed }) => killed))} |\n` : ''}| requests acknowledged | ${sum(Object.values(acknowledged))} (${listed(acknowledged)}) |
| requests that a crash left without an answer, or found no server | ${sum(lives.map((life) => life.unanswered))} |
| acknowledged and missing, doubled, or otherwise wrong | ${faultsOf(figures).length} |`;
}

/** The sums of equally named counts. */
function together(counts: readonly Record<string, number>[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const [name, n] of counts.flatMap(Object.entries<number>)) all[name] = (all[name] ?? 0) + n;
  return all;
}
