// `npm run crash -- --rounds N --seed S`: the long form. Figures go into spec/REPORT.md.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { machineLine, writeSection } from '../support/report.ts';
import { Life, type LifeFigures } from './life.ts';
import { migrateKilled, VERSIONS } from './migration.ts';

/** Rounds after which a new state directory is begun, so that the comparisons stay quick. */
const ROUNDS_OF_A_LIFE = 21;

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '210' }, seed: { type: 'string', default: '1' } },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed);
if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed)) {
  throw new Error('--rounds and --seed are whole numbers');
}

const root = mkdtempSync(join(tmpdir(), 'jq-crash-'));
const began = performance.now();
const lives: LifeFigures[] = [];
for (let done = 0; done < rounds; done += ROUNDS_OF_A_LIFE) {
  const folder = mkdtempSync(join(root, 'life-'));
  const life = { folder, seed: seed + lives.length, rounds: Math.min(ROUNDS_OF_A_LIFE, rounds - done) };
  const figures = await new Life(life).run();
  lives.push(figures);
  console.log(JSON.stringify({ seed: life.seed, ...figures }));
  if (figures.faults.length === 0) rmSync(folder, { recursive: true });
}
const migrations = [];
for (const version of [0, ...VERSIONS.slice(0, -1)]) {
  migrations.push(await migrateKilled(join(root, `version-${version}`), version));
}

const faults = [...lives, ...migrations].flatMap((figures) => figures.faults);
const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
const total = (of: (life: LifeFigures) => Record<string, number>) => {
  const names = [...new Set(lives.flatMap((life) => Object.keys(of(life))))];
  return names.map((name) => [name, sum(lives.map((life) => of(life)[name] ?? 0))] as const);
};
const listed = (counts: (readonly [string, number])[]) =>
  counts.map(([name, n]) => `${name} ${n}`).join(', ');
const acknowledged = total((life) => life.acknowledged);

writeSection(
  'Crash loops',
  `${machineLine()} Seed ${seed}, ${Math.round((performance.now() - began) / 1000)} s.

| What | Figure |
| --- | --- |
| servers killed | ${rounds} (${listed(total((life) => life.rounds))}) |
| workers killed | ${sum(lives.map((life) => life.workerKills))} |
| migrations killed | ${sum(migrations.map((figures) => figures.killed))} |
| requests acknowledged | ${sum(acknowledged.map(([, n]) => n))} (${listed(acknowledged)}) |
| requests that a crash left without an answer, or found no server | ${sum(lives.map((life) => life.unanswered))} |
| acknowledged and missing, doubled, or otherwise wrong | ${faults.length} |`,
);
if (faults.length > 0) {
  console.error(`${faults.join('\n')}\nThe state directories are in ${root}`);
  process.exitCode = 1;
} else rmSync(root, { recursive: true });
