import type { Bench } from '../bench.ts';
import { runLoad } from '../load/process.ts';
import { quantile } from '../load/quantiles.ts';
import { atMost, type Reading, type Workload } from '../workload.ts';
import { assertStats } from './checks.ts';

export const depth: Workload = {
  name: 'depth',
  about:
    'Leases, one at a time, from four servers in turns: 1,000 and 1,000,000 queued tasks (matrix jobs through the API), all alike or with 100 distinct requirements that the worker meets.',
  maxRuns: 1,
  async run(bench) {
    const readings: Reading[] = [];
    for (const requirements of bench.pick([1, 100], [1, 100], [10])) {
      const small = await filled(bench, bench.pick(1000, 1000, 200), requirements);
      const large = await filled(bench, bench.pick(1_000_000, 100_000, 1000), requirements);
      const ratios: number[] = [];
      const p50: number[][] = [[], []];
      for (let round = 0; round < bench.pick(5, 3, 1); round++) {
        const { times } = await runLoad('depth', {
          urls: [small, large],
          warmUp: bench.pick(20, 20, 5),
          leases: bench.pick(120, 60, 20),
        });
        const [shallow, deep] = times.map((taken) => quantile(taken, 0.5)) as [number, number];
        p50[0]?.push(shallow);
        p50[1]?.push(deep);
        ratios.push(deep / shallow);
      }
      const kind = requirements === 1 ? '1 requirement' : `${requirements} requirements`;
      const id = requirements === 1 ? 'one' : 'many';
      readings.push(
        {
          id: `depth.${id}`,
          what: `lease at the deep queue over the shallow one, ${kind}`,
          unit: '×',
          value: ratios,
          targets: [atMost(1.2)],
        },
        { id: `depth.${id}.small`, what: `lease, shallow, ${kind}, p50`, unit: 'ms', value: p50[0] ?? [] },
        { id: `depth.${id}.large`, what: `lease, deep, ${kind}, p50`, unit: 'ms', value: p50[1] ?? [] },
      );
      await bench.close();
    }
    return readings;
  },
};

async function filled(bench: Bench, tasks: number, requirements: number): Promise<string> {
  const { url } = await bench.server();
  await runLoad('fill', { url, tasks, requirements });
  await assertStats(url, { queued: tasks });
  return url;
}
