// `npm run simulate -- --runs M --seed N`: the long form. With JQ_TEST_STORE=postgresql the servers have their stores there.
import { parseArgs } from 'node:util';
import { machineLine, writeSection } from '../support/report.ts';
import { spread } from '../support/spread.ts';
import { startTestStore } from '../support/test-store.ts';
import type { Simulated } from './run.ts';
import type { SimulationOutcome, SimulationShare } from './share.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    runs: { type: 'string' },
    hours: { type: 'string' },
    seconds: { type: 'string' },
    trace: { type: 'string' },
  },
});
const first = Number(values.seed ?? Date.now() % 2 ** 31);
const runs = Number(values.runs ?? (values.seed === undefined ? 20 : 1));
const hours = Number(values.hours ?? 2);
const limit = Number(values.seconds ?? Number.POSITIVE_INFINITY);

/** Adds figures up, member by member. */
function add(total: Record<string, unknown>, more: object): void {
  for (const [key, value] of Object.entries(more)) {
    if (typeof value === 'number') total[key] = ((total[key] as number | undefined) ?? 0) + value;
    else if (typeof value === 'object') {
      total[key] ??= {};
      add(total[key] as Record<string, unknown>, value);
    }
  }
}

function* shares(): Generator<SimulationShare> {
  const until = Date.now() + 1000 * limit;
  for (let i = 0; i < runs && Date.now() < until; i++) yield { seed: first + i, hours, trace: values.trace };
}

const total: Record<string, unknown> = {};
const startedAt = Date.now();
let done = 0;
const module = new URL('./share.ts', import.meta.url);
const store = await startTestStore();
for await (const { share, outcome } of spread<SimulationShare, SimulationOutcome>(module, shares())) {
  const { seed } = share;
  if ('failure' in outcome) {
    process.stdout.write(`seed ${seed}: ${outcome.failure}\n`);
    process.stdout.write(`again: npm run simulate -- --seed ${seed} --hours ${hours} --runs 1\n`);
    process.exitCode = 1;
    break;
  }
  const { run, took } = outcome;
  add(total, run);
  done++;
  process.stdout.write(
    `seed ${seed}: ${(run.seconds / 3600).toFixed(1)} h in ${took.toFixed(1)} s, ${run.jobs} jobs, ${run.acknowledged} acknowledged, ${run.steps} steps, ${run.trace.slice(0, 12)}\n`,
  );
}
await store?.stop();
const took = Math.round((Date.now() - startedAt) / 1000);
if (runs > 1 && !process.exitCode) report(total as unknown as Simulated, took);

function report({ network, chaos, ...sum }: Simulated, seconds: number): void {
  const rows = Object.entries({
    'Simulated clusters': done,
    'Simulated days': Math.round(sum.seconds / 8640) / 10,
    'Real seconds': seconds,
    Steps: sum.steps,
    'Jobs, tasks': `${sum.jobs}, ${sum.tasks}`,
    Events: sum.events,
    'Analyses begun': sum.children,
    'Commits, failed commits': `${sum.commits}, ${sum.failedCommits}`,
    Requests: network.requests,
    'Requests lost, cut, doubled': `${network.lost}, ${network.cut}, ${network.doubled}`,
    'Server crashes, restarts': `${chaos.crashes}, ${chaos.restarts}`,
    'Full disks, slow disks': `${chaos.fullDisks}, ${chaos.slowDisks}`,
    'Partitions, storms': `${chaos.partitions}, ${chaos.storms}`,
    'Standstills of the server, of everything': `${chaos.standstills}, ${chaos.suspensions}`,
    ...(store && {
      'Servers from which another one took the store, heard of it': `${chaos.usurpations}, ${sum.overthrown}`,
    }),
    'Worker freezes, crashes': `${chaos.freezes}, ${chaos.workerCrashes}`,
    'Illnesses of workers, times that one was suspended': `${chaos.illnesses}, ${sum.suspended}`,
    'Copies of state directories, programs superseded': `${chaos.copies}, ${sum.superseded}`,
    'Tasks that had the result of an earlier one': sum.reused,
    'Jumps of the wall clock': chaos.jumps,
    'Acknowledged requests looked up': sum.acknowledged,
    'Losses, broken promises': 0,
  });
  writeSection(
    store ? 'Simulation on PostgreSQL' : 'Deterministic simulation',
    `${machineLine()} \`npm run simulate -- --seed ${first} --runs ${done} --hours ${hours}\`; state directories in memory
where the machine has such a place.

| What | How often |
| ---- | --------- |
${rows.map(([name, figure]) => `| ${name} | ${figure} |`).join('\n')}`,
  );
}
