import { runLoad } from '../load/process.ts';
import { median } from '../load/quantiles.ts';
import { atMost, type Workload } from '../workload.ts';
import { assertStats } from './checks.ts';

export const matrix: Workload = {
  name: 'matrix',
  about:
    'One job of 100 pipelines × 100 datasets, from sending the POST until its durable answer; five of them.',
  async run(bench) {
    const side = bench.pick(100, 100, 20);
    const jobs = bench.pick(5, 3, 1);
    const server = await bench.server();
    server.reset();
    const done = await runLoad('matrix', { url: server.url, pipelines: side, datasets: side, jobs });
    await assertStats(server.url, { queued: jobs * side * side });
    return [
      {
        id: 'matrix.accepted',
        what: `job of ${side} × ${side} tasks accepted`,
        unit: 's',
        value: median(done.seconds),
        targets: [atMost(0.5)],
        server: server.usage(),
        per: { count: jobs * side * side, what: 'task' },
      },
    ];
  },
};
