import { runLoad } from '../load/process.ts';
import { atLeast, type Workload } from '../workload.ts';
import { assertStats, queueJobs } from './checks.ts';

const PROCESSING = 'peers.bullmq.process';

export const lifecycle: Workload = {
  name: 'lifecycle',
  about:
    '20,000 queued one-task jobs; 64 simulated workers of one slot lease, start and complete them, one task a lease, three requests a task.',
  async run(bench) {
    const tasks = bench.pick(20_000, 4_000, 300);
    const server = await bench.server();
    await queueJobs(server.url, tasks);
    server.reset();
    const done = await runLoad('lifecycle', { url: server.url, tasks, workers: 64 });
    const used = server.usage();
    await assertStats(server.url, { succeeded: tasks, queued: 0, leased: 0, running: 0 });
    return [
      {
        id: 'lifecycle.tasks',
        what: 'tasks leased, started and completed',
        unit: '/s',
        value: done.completed / done.seconds,
        targets: [atLeast(0.5, PROCESSING), atLeast(4, 'peers.graphile.process')],
        server: used,
        per: { count: tasks, what: 'task' },
        generatorLoad: done.generatorCpuSeconds / done.seconds,
      },
    ];
  },
};

export const batchLifecycle: Workload = {
  name: 'batch',
  about:
    'The lifecycle by 8 workers of 64 slots: `max_tasks: 64` at a lease, and all reports of a batch in one `POST /v1/tasks/reports` where the server offers it (else one request a report over 64 connections).',
  async run(bench) {
    const tasks = bench.pick(20_000, 4_000, 300);
    const server = await bench.server();
    await queueJobs(server.url, tasks);
    server.reset();
    const done = await runLoad('batchLifecycle', { url: server.url, tasks, workers: 8, batch: 64 });
    const used = server.usage();
    await assertStats(server.url, { succeeded: tasks, queued: 0, leased: 0, running: 0 });
    return [
      {
        id: 'batch.tasks',
        what: `tasks leased, started and completed, reports ${done.bulkReports ? 'in bulk' : 'one by one'}`,
        unit: '/s',
        value: done.completed / done.seconds,
        targets: [atLeast(1, PROCESSING)],
        server: used,
        per: { count: tasks, what: 'task' },
        generatorLoad: done.generatorCpuSeconds / done.seconds,
      },
    ];
  },
};
