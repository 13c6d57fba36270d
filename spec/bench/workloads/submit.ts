import { runLoad } from '../load/process.ts';
import { atLeast, type Reading, type Workload } from '../workload.ts';
import { assertStats } from './checks.ts';

export const submit: Workload = {
  name: 'submit',
  about: 'One-task jobs of about 400 bytes by `POST /v1/jobs`, over 64 and over 256 kept connections.',
  async run(bench) {
    const readings: Reading[] = [];
    for (const connections of [64, 256]) {
      const jobs = bench.pick(20_000, 5_000, 300);
      const server = await bench.server();
      await runLoad('submit', { url: server.url, jobs: Math.ceil(jobs / 10), connections });
      server.reset();
      const done = await runLoad('submit', { url: server.url, jobs, connections });
      const used = server.usage();
      await assertStats(server.url, { queued: done.accepted + Math.ceil(jobs / 10) });
      readings.push({
        id: `submit.${connections}`,
        what: `jobs accepted, ${connections} connections`,
        unit: '/s',
        value: done.accepted / done.seconds,
        targets: [atLeast(1, 'peers.bullmq.add')],
        server: used,
        per: { count: done.accepted, what: 'job' },
        generatorLoad: done.generatorCpuSeconds / done.seconds,
      });
      await bench.close();
    }
    return readings;
  },
};
