import type { Bench } from '../bench.ts';
import { runLoad } from '../load/process.ts';
import type { Reading, Workload } from '../workload.ts';
import { assertStats, queueJobs } from './checks.ts';
import { oursTo } from './fan-out.ts';

const CONNECTIONS = 64;

export const transports: Workload = {
  name: 'transports',
  about:
    'The same on both transports, uWebSockets.js and Node.js with `ws`: one-task jobs over 64 connections, their life with 64 simulated workers of one slot, and 500 clients that follow the global event stream while a worker reports 100 events a second.',
  async run(bench) {
    return [...(await over(bench, 'uws')), ...(await over(bench, 'node'))];
  },
};

async function over(bench: Bench, transport: 'uws' | 'node'): Promise<Reading[]> {
  const tasks = bench.pick(10_000, 3_000, 200);
  const [clients, ticks] = bench.pick([500, 1000], [100, 300], [10, 50]);
  const server = await bench.server(bench.directory(), { transport });
  const { url } = server;
  await queueJobs(url, tasks);
  server.reset();
  const submitted = await runLoad('submit', { url, jobs: tasks, connections: CONNECTIONS });
  const submitting = server.usage();
  await assertStats(url, { queued: 2 * tasks });
  server.reset();
  const lived = await runLoad('lifecycle', { url, tasks, workers: CONNECTIONS });
  const living = server.usage();
  await assertStats(url, { succeeded: tasks, queued: tasks });
  const followed = await oursTo(server, clients, ticks);
  await server.stop();
  const reading = (id: string, what: string, unit: Reading['unit'], value: number): Reading => ({
    id: `transports.${transport}.${id}`,
    what: `${transport}: ${what}`,
    unit,
    value,
  });
  return [
    {
      ...reading('submit', 'jobs accepted', '/s', submitted.accepted / submitted.seconds),
      server: submitting,
      per: { count: submitted.accepted, what: 'job' },
    },
    {
      ...reading('lifecycle', 'tasks leased, started and completed', '/s', lived.completed / lived.seconds),
      server: living,
      per: { count: tasks, what: 'task' },
    },
    {
      ...reading('fan-out', 'event sent to received, p99', 'ms', followed.p99),
      server: { cpuSeconds: followed.cpu, peakBytes: followed.peakBytes, bytes: followed.peakBytes },
      per: { count: clients * ticks, what: 'frame' },
    },
  ];
}
