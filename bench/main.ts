import { constants } from 'node:os';
import { parseArgs } from 'node:util';
import type { BenchOptions } from './bench.ts';
import { loadFigures, mergeFigures, saveFigures } from './figures.ts';
import { loadProfiles, profilesIn, saveProfiles, summarize } from './profile.ts';
import { printTable, writeReport } from './report.ts';
import { measureTogether } from './run.ts';
import type { Workload } from './workload.ts';
import { WORKLOADS } from './workloads/index.ts';

const USAGE = `npm run bench -- [options]

  --only NAME[,NAME]  workloads to measure (all that need no further programs)
  --runs N            runs of each, of which the medians are taken (3)
  --together          measure the workloads in turns, a run of each, instead of one after the other
  --quick             small counts, a minute or two in all; the report stays as it is
  --minutes N         minutes of the soak (30)
  --dir DIR           where state directories are made, on a disk (/var/tmp/jq-cluster-bench)
  --profile DIR       write CPU profiles of the servers to DIR; of the report, only the profiles change
  --render            measure nothing; write the report anew from the figures that are kept
  --dry               print only; the report stays as it is

workloads: ${WORKLOADS.map(({ name }) => name).join(', ')}
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    runs: { type: 'string', default: '3' },
    together: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '30' },
    dir: { type: 'string', default: '/var/tmp/jq-cluster-bench' },
    profile: { type: 'string' },
    render: { type: 'boolean', default: false },
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

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  if (values.render) {
    writeReport(loadFigures(), loadProfiles(), WORKLOADS);
    return;
  }
  const options: BenchOptions = {
    scale: values.quick ? 'quick' : 'full',
    folder: values.dir,
    minutes: Number(values.minutes),
    profile: values.profile,
  };
  const runs = values.quick ? 1 : Number(values.runs);
  const writes = !values.quick && !values.dry && values.profile === undefined;
  const workloads = chosen();
  // A profile is one workload's.
  const groups =
    values.together && values.profile === undefined ? [workloads] : workloads.map((workload) => [workload]);
  const known = loadFigures();
  let figures = known;
  for (const group of groups) {
    const before = profilesIn(values.profile ?? '');
    const measured = await measureTogether(group, options, runs).catch((error: Error) => {
      process.stderr.write(
        `${group.map(({ name }) => name).join(', ')} failed: ${error.stack ?? error.message}\n`,
      );
      process.exitCode = 1;
      return {};
    });
    figures = mergeFigures(figures, measured);
    if (values.profile !== undefined) keepProfile(values.profile, before, group);
    if (!writes) continue;
    saveFigures(figures);
    writeReport(figures, loadProfiles(), WORKLOADS);
  }
  if (values.profile !== undefined && !values.dry) writeReport(known, loadProfiles(), WORKLOADS);
  process.stdout.write(`${printTable(figures, workloads)}\n`);
}

/** Keeps the summary of a workload's new profiles, and prints it. */
function keepProfile(directory: string, before: readonly string[], workloads: readonly Workload[]): void {
  const fresh = profilesIn(directory).filter((name) => !before.includes(name));
  const profile = summarize(directory, fresh, new Date().toISOString().slice(0, 16).replace('T', ' '));
  if (!profile) return;
  const name = workloads.map((workload) => workload.name).join('+');
  if (!values.dry) saveProfiles({ ...loadProfiles(), [name]: profile });
  process.stdout.write(`${name}: ${JSON.stringify(profile, null, 2)}\n`);
}

// What it started ends with it, as `exit` says in their files; by itself a signal would leave all of it behind.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
await main();
