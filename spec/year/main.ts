// `npm run year -- --days N --seed S`: the long form. Figures go into spec/REPORT.md; what has grown is an error.
import { parseArgs } from 'node:util';
import { ownFolder } from '../model/base.ts';
import { machineLine, writeSection } from '../support/report.ts';
import { growthOf, MOST, sectionOf } from './figures.ts';
import { liveThroughYear } from './run.ts';

const { values } = parseArgs({
  options: {
    days: { type: 'string' },
    seed: { type: 'string' },
    // To see that the store grows then, and that this is noticed.
    'keep-all': { type: 'boolean', default: false },
  },
});
const isCleared = !values['keep-all'];
const days = Number(values.days ?? 365);
const seed = Number(values.seed ?? 1);
if (!(days >= 5) || !Number.isInteger(seed)) throw new Error('--days is at least 5, --seed a whole number');

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const took = () => Math.round(performance.now() / 1000);
const onLine = (line: string) => console.log(`${took()} s: ${line}`);
const again = `npm run year -- --days ${days} --seed ${seed}${isCleared ? '' : ' --keep-all'}`;
try {
  const outcome = await liveThroughYear({
    days,
    seed,
    isCleared,
    folder: ownFolder(),
    isMeasured: true,
    onLine,
  });
  const section = sectionOf(outcome, again, machineLine(), took());
  console.log(section);
  const grown = growthOf(outcome);
  if (grown.length > 0) throw new Error(`more than ${MOST} times the second month: ${grown.join('; ')}`);
  writeSection('A year', section);
} catch (fault) {
  console.error(`${(fault as Error).stack}\nagain: ${again}`);
  process.exitCode = 1;
}
