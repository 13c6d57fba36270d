import { loadavg } from 'node:os';
import { Bench, type BenchOptions } from './bench.ts';
import { type Figures, figuresOf } from './figures.ts';
import { diskTimes } from './measure/disk.ts';
import type { Reading, Workload } from './workload.ts';

/** One run of a workload, and beside it what a commit costs on the same disk at that time. */
export async function runOnce(workload: Workload, options: BenchOptions): Promise<Reading[]> {
  const bench = new Bench(options);
  try {
    const [busy = 0] = loadavg();
    const disk = await diskTimes(options.folder);
    const beside = (id: 'commit' | 'fdatasync', what: string): Reading => ({
      id: `${workload.name}.${id}`,
      what: `beside it: ${what}`,
      unit: 'ms',
      value: disk[id],
    });
    return [
      ...(await workload.run(bench)),
      beside('commit', 'one synced SQLite commit'),
      beside('fdatasync', 'one bare fdatasync of 4 KiB'),
      // What else the machine did: a figure taken on a busy machine says little.
      {
        id: `${workload.name}.load`,
        what: 'before it: load average of the last minute',
        unit: '',
        value: busy,
      },
    ];
  } finally {
    await bench.close();
  }
}

/**
 * Measures several workloads, a run of each in turn, so that a quiet or a busy moment of the machine does not
 * favour one of them.
 */
export async function measureTogether(
  workloads: readonly Workload[],
  options: BenchOptions,
  runs: number,
): Promise<Figures> {
  const readings = new Map<Workload, Reading[][]>(workloads.map((workload) => [workload, []]));
  for (let run = 0; run < runs; run++) {
    for (const [workload, done] of readings) {
      if (run >= (workload.maxRuns ?? runs)) continue;
      process.stderr.write(`${workload.name}, run ${run + 1}\n`);
      done.push(await runOnce(workload, options));
    }
  }
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const figures = [...readings].map(([{ name }, done]) => figuresOf(name, done, date));
  return Object.assign({}, ...figures) as Figures;
}
