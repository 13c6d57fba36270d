// `npm run crash -- --rounds N --seed S`: the long form. Figures go into spec/REPORT.md, after each life anew.
// With JQ_TEST_STORE=postgresql the servers have their stores there. With `--servers 3` so many share one, and take over from each other:
// it is in a PostgreSQL with a replica. `--blow kill` strikes with that one alone.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PostgresPair } from '../support/postgres-pair.ts';
import { writeSection } from '../support/report.ts';
import { startTestStore } from '../support/test-store.ts';
import { BLOW_NAMES, BLOWS, type BlowName, blowOf } from './blows.ts';
import { faultsOf, sectionOf } from './figures.ts';
import { Life, type LifeFigures } from './life.ts';
import { type MigrationFigures, migrateKilled, VERSIONS } from './migration.ts';
import { reignSectionOf } from './reign-figures.ts';
import { type ReignFigures, Reigns, type ReignsOptions } from './reigns.ts';

/** Rounds after which a new state directory is begun, so that the comparisons stay quick. */
const ROUNDS_OF_A_LIFE = 21;
/** The same of a database that several servers have. */
const ROUNDS_OF_REIGNS = 40;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '210' },
    seed: { type: 'string', default: '1' },
    servers: { type: 'string', default: '1' },
    blow: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const seed = Number(values.seed);
const servers = Number(values.servers);
if (![rounds, seed, servers].every(Number.isInteger) || rounds < 1 || servers < 1) {
  throw new Error('--rounds, --seed and --servers are whole numbers');
}
const only = BLOW_NAMES.find((name) => name === values.blow);
if (values.blow && !only) throw new Error(`--blow is one of ${BLOW_NAMES.join(', ')}`);
const struckBy = (round: number): BlowName => only ?? blowOf(round);
const reignTitle = `Take-overs on PostgreSQL${only ? ` after ${BLOWS[only].words}` : ''}`;

const root = mkdtempSync(join(tmpdir(), 'jq-crash-'));
const began = performance.now();
const lives: LifeFigures[] = [];
const migrations: MigrationFigures[] = [];
const reigns: ReignFigures[] = [];
const figures = () => ({ seed, seconds: (performance.now() - began) / 1000, lives, migrations });

async function manyLives(store: object | null): Promise<void> {
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
}

async function manyReigns(): Promise<void> {
  const pair = await PostgresPair.start();
  try {
    for (let done = 0; done < rounds; ) {
      const folder = mkdtempSync(join(root, 'reigns-'));
      const last = Math.min(done + ROUNDS_OF_REIGNS, rounds);
      const found = await oneLife({ folder, seed: seed + reigns.length, servers, pair }, done, last);
      done = last;
      reigns.push(found);
      console.log(JSON.stringify(found));
      if (found.faults.length === 0) rmSync(folder, { recursive: true });
      const run = { seed, rounds: done, servers, only, seconds: (performance.now() - began) / 1000 };
      writeSection(reignTitle, reignSectionOf(reigns, run));
    }
  } finally {
    await pair.stop();
  }
}

async function oneLife(options: ReignsOptions, from: number, to: number): Promise<ReignFigures> {
  const life = await Reigns.begin(options);
  try {
    for (let round = from; round < to; round++) {
      const faults = await life.round(struckBy(round));
      console.log(`round ${round}: ${struckBy(round)}`, ...faults);
    }
    return await life.end();
  } finally {
    await life.close();
  }
}

async function ofOneStore(): Promise<void> {
  const store = await startTestStore();
  try {
    await manyLives(store);
  } finally {
    await store?.stop();
  }
}

await (servers > 1 ? manyReigns() : ofOneStore());

const faults = [...faultsOf(figures()), ...reigns.flatMap((found) => found.faults)];
if (faults.length > 0) {
  console.error(`${faults.join('\n')}\nThe state directories are in ${root}`);
  process.exitCode = 1;
} else rmSync(root, { recursive: true });
