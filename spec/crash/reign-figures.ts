import { machineLine } from '../support/report.ts';
import type { ReignFigures } from './reigns.ts';

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

function spread(took: readonly number[]): string {
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number) => seconds(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  return `${sorted.length}: half within ${at(0.5)}, 99 of 100 within ${at(0.99)}, the slowest ${at(1)}`;
}

/** The section of the report, as Markdown. */
export function reignSectionOf(
  { took, acknowledged, unanswered, followed, faults }: ReignFigures,
  run: { seed: number; servers: number; seconds: number },
): string {
  const listed = Object.entries(acknowledged).map(([name, n]) => `${name} ${n}`);
  return `${machineLine()} Seed ${run.seed}, ${run.servers} servers, ${Math.round(run.seconds)} s.

| What | Figure |
| --- | --- |
| take-overs after \`kill -9\` of the one that leads, until the next one had acknowledged a job | ${spread(took.kill)} |
| take-overs from one that was stopped (SIGSTOP), which awoke afterwards, wrote nothing and ended | ${spread(took.stop)} |
| requests acknowledged | ${Object.values(acknowledged).reduce((a, b) => a + b, 0)} (${listed.join(', ')}) |
| requests without an answer, or for which nobody led | ${unanswered} |
| events that one stream brought over all reigns, each once and in order | ${followed} |
| acknowledged and missing, doubled, or otherwise wrong | ${faults.length} |`;
}
