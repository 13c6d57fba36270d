import { parseArgs } from 'node:util';
import { Bench, type BenchOptions } from './bench.ts';
import { type Figures, figuresOf, loadFigures, mergeFigures, saveFigures } from './figures.ts';
import { diskTimes } from './measure/disk.ts';
import { printTable, writeReport } from './report.ts';
import type { Reading, Workload } from './workload.ts';
import { WORKLOADS } from './workloads/index.ts';

const USAGE = `npm run bench -- [options]

  --only NAME[,NAME]  workloads to measure (all but the soak)
  --runs N            runs of each, of which the medians are taken (3)
  --quick             small counts, a minute in all; nothing is written
  --minutes N         minutes of the soak (30)
  --dir DIR           where state directories are made, on a disk (/var/tmp/jq-cluster-bench)
  --profile DIR       write a CPU profile of every server to DIR and say where the time went
  --dry               print, but write no report

workloads: ${WORKLOADS.map(({ name }) => name).join(', ')}`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    runs: { type: 'string', default: '3' },
    quick: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '30' },
    dir: { type: 'string', default: '/var/tmp/jq-cluster-bench' },
    profile: { type: 'string' },
    dry: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** The workloads that are named, in the order of the report. */
function chosen(): Workload[] {
  if (values.only === undefined) return WORKLOADS.filter((workload) => !workload.onlyWhenNamed);
  const names = values.only.split(',');
  const unknown = names.find((name) => !WORKLOADS.some((workload) => workload.name === name));
  if (unknown !== undefined) throw new Error(`no workload '${unknown}'\n\n${USAGE}`);
  return WORKLOADS.filter(({ name }) => names.includes(name));
}

/** The runs of one workload; the time of a commit on the same disk is taken before each. */
async function measure(workload: Workload, options: BenchOptions, runs: number): Promise<Reading[][]> {
  const readings: Reading[][] = [];
  for (let run = 0; run < Math.min(runs, workload.maxRuns ?? runs); run++) {
    process.stderr.write(`${workload.name}, run ${run + 1}\n`);
    const bench = new Bench(options);
    try {
      const disk = await diskTimes(options.folder);
      const of = (id: 'commit' | 'fdatasync', what: string): Reading => ({
        id: `${workload.name}.${id}`,
        what: `beside it: ${what}`,
        unit: 'ms',
        value: disk[id],
      });
      readings.push([
        ...(await workload.run(bench)),
        of('commit', 'one synced SQLite commit'),
        of('fdatasync', 'one bare fdatasync of 4 KiB'),
      ]);
    } finally {
      await bench.close();
    }
  }
  return readings;
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const options: BenchOptions = {
    scale: values.quick ? 'quick' : 'full',
    folder: values.dir,
    minutes: Number(values.minutes),
    profile: values.profile,
  };
  const workloads = chosen();
  const known = loadFigures();
  let measured: Figures = {};
  for (const workload of workloads) {
    const runs = await measure(workload, options, values.quick ? 1 : Number(values.runs));
    const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
    measured = { ...measured, ...figuresOf(workload.name, runs, date) };
    if (!values.quick && !values.dry && values.profile === undefined) {
      const all = mergeFigures(known, measured);
      saveFigures(all);
      writeReport(all, WORKLOADS);
    }
  }
  process.stdout.write(`${printTable(mergeFigures(known, measured), workloads)}\n`);
}

await main();
