// `npm run crash -- --rounds N --seed S`: the long form. Figures go into spec/REPORT.md, after each life anew.
// With JQ_TEST_STORE=postgresql the servers have their stores there.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeSection } from '../support/report.ts';
import { startTestStore } from '../support/test-store.ts';
import { faultsOf, sectionOf } from './figures.ts';
import { Life, type LifeFigures } from './life.ts';
import { type MigrationFigures, migrateKilled, VERSIONS } from './migration.ts';

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
const migrations: MigrationFigures[] = [];
const figures = () => ({ seed, seconds: (performance.now() - began) / 1000, lives, migrations });

const store = await startTestStore();
try {
  // Each migration of PostgreSQL is a transaction of the database itself.
  for (const version of store ? [] : [0, ...VERSIONS.slice(0, -1)]) {
    migrations.push(await migrateKilled(join(root, `version-${version}`), version));
  }
  for (let done = 0; done < rounds; done += ROUNDS_OF_A_LIFE) {
    const folder = mkdtempSync(join(root, 'life-'));
    const life = { folder, seed: seed + lives.length, rounds: Math.min(ROUNDS_OF_A_LIFE, rounds - done) };
    const found = await new Life(life).run();
    lives.push(found);
    console.log(JSON.stringify({ seed: life.seed, ...found }));
    if (found.faults.length === 0) rmSync(folder, { recursive: true });
    writeSection(store ? 'Crash loops on PostgreSQL' : 'Crash loops', sectionOf(figures()));
  }
} finally {
  await store?.stop();
}

const faults = faultsOf(figures());
if (faults.length > 0) {
  console.error(`${faults.join('\n')}\nThe state directories are in ${root}`);
  process.exitCode = 1;
} else rmSync(root, { recursive: true });
