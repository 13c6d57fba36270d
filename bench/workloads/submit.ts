import { runLoad } from '../load/process.ts';
import { atLeast, type Reading, type Workload } from '../workload.ts';
import { assertStats, queueJobs } from './checks.ts';

export const submit: Workload = {
  name: 'submit',
  about:
    'One-task jobs of about 400 bytes by `POST /v1/jobs`, over 64 and over 256 kept connections, after as many that warm the server up.',
  async run(bench) {
    const jobs = bench.pick(20_000, 5_000, 300);
    const server = await bench.server();
    await queueJobs(server.url, jobs);
    const readings: Reading[] = [];
    for (const [i, connections] of [64, 256].entries()) {
      server.reset();
      const done = await runLoad('submit', { url: server.url, jobs, connections });
      const used = server.usage();
      await assertStats(server.url, { queued: jobs * (i + 2) });
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
    }
    return readings;
  },
};
