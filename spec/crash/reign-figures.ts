import { machineLine } from '../support/report.ts';
import { BLOW_NAMES, BLOWS, type BlowName } from './blows.ts';
import type { ReignFigures } from './reigns.ts';

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

function spread(took: readonly number[]): string {
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number) => seconds(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  return `${sorted.length} | ${at(0.5)} | ${at(0.99)} | ${at(1)}`;
}

/** The section of the report, as Markdown. */
export function reignSectionOf(
  lives: readonly ReignFigures[],
  run: { seed: number; rounds: number; servers: number; only: BlowName | undefined; seconds: number },
): string {
  const sum = (of: (life: ReignFigures) => number) => lives.reduce((all, life) => all + of(life), 0);
  const took = BLOW_NAMES.map((name) => ({ name, all: lives.flatMap((life) => life.took[name] ?? []) }));
  const acknowledged: Record<string, number> = {};
  for (const [what, n] of lives.flatMap((life) => Object.entries(life.acknowledged)))
    acknowledged[what] = (acknowledged[what] ?? 0) + n;
  const listed = Object.entries(acknowledged).map(([name, n]) => `${name} ${n}`);
  return `${machineLine()} \`npm run crash -- --servers ${run.servers} --rounds ${run.rounds} --seed ${run.seed}${run.only ? ` --blow ${run.only}` : ''}\`,
${Math.round(run.seconds)} s. The database is a primary with a replica that each commit waits for. The times are those from the blow until a job was
acknowledged: by another server, or by any where the one that leads may go on.

| What happens | Times | Half within | 99 of 100 within | The slowest |
| --- | ---: | ---: | ---: | ---: |
${took
  .filter(({ all }) => all.length > 0)
  .map(({ name, all }) => `| ${BLOWS[name].words} | ${spread(all)} |`)
  .join('\n')}
${run.only ? '' : `| **all of them** | ${spread(took.flatMap(({ all }) => all))} |\n`}
| What | Figure |
| --- | --- |
| requests acknowledged | ${Object.values(acknowledged).reduce((a, b) => a + b, 0)} (${listed.join(', ')}) |
| requests without an answer, or for which nobody led | ${sum((life) => life.unanswered)} |
| events that one stream brought over all reigns, each once and in order | ${sum((life) => life.followed)} |
| acknowledged and missing, doubled, or otherwise wrong | ${sum((life) => life.faults.length)} |`;
}
