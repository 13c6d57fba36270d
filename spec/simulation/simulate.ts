import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { fastFolder } from '../model/base.ts';
import { machineLine, writeSection } from '../support/report.ts';
import { type Simulated, simulate } from './run.ts';
import { playTime } from './time.ts';

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

function fail(seed: number, fault: unknown): never {
  process.stdout.write(`seed ${seed}: ${(fault as Error).message}\n`);
  process.stdout.write(`again: npm run simulate -- --seed ${seed} --hours ${hours} --runs 1\n`);
  process.exit(1);
}

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

let seed = first;
process.on('uncaughtException', (fault) => fail(seed, fault));
const back = playTime();
const total: Record<string, unknown> = {};
const startedAt = Date.now();
let done = 0;
for (; done < runs && (Date.now() - startedAt) / 1000 < limit; done++, seed++) {
  const { trace } = values;
  const onLine = trace === undefined ? {} : { onLine: (line: string) => appendFileSync(trace, `${line}\n`) };
  const from = Date.now();
  const run = await simulate({ seed, hours, base: fastFolder(), ...onLine }).catch((fault) =>
    fail(seed, fault),
  );
  add(total, run);
  const took = ((Date.now() - from) / 1000).toFixed(1);
  process.stdout.write(
    `seed ${seed}: ${(run.seconds / 3600).toFixed(1)} h in ${took} s, ${run.jobs} jobs, ${run.acknowledged} acknowledged, ${run.steps} steps, ${run.trace.slice(0, 12)}\n`,
  );
}
back();
const took = Math.round((Date.now() - startedAt) / 1000);
if (runs > 1) report(total as unknown as Simulated, took);

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
    'Worker freezes, crashes': `${chaos.freezes}, ${chaos.workerCrashes}`,
    'Jumps of the wall clock': chaos.jumps,
    'Acknowledged requests looked up': sum.acknowledged,
    'Losses, broken promises': 0,
  });
  writeSection(
    'Deterministic simulation',
    `${machineLine()} \`npm run simulate -- --seed ${first} --runs ${done} --hours ${hours}\`; state directories in memory
where the machine has such a place.

| What | How often |
| ---- | --------- |
${rows.map(([name, figure]) => `| ${name} | ${figure} |`).join('\n')}`,
  );
}
