import { startWorker } from '../measure/worker.ts';
import { atLeast, atMost, type Workload } from '../workload.ts';
import { runNoops } from './noops.ts';

const SLOTS = 4;

export const noop: Workload = {
  name: 'noop',
  about:
    'Tasks that do nothing, a shell script that writes a result, as one job on a real worker with four slots: what the queue itself costs from the lease to the last report, log and directory of each task included. Processor time is that of the server, and of the worker with its children.',
  async run(bench) {
    const count = bench.pick(1_000, 300, 8);
    const folder = bench.directory();
    const there = { kind: 'shared_path', path: folder };
    const server = await bench.server();
    const { profile } = bench.options;
    const worker = await startWorker(server.url, bench.directory(), { slots: SLOTS, profile });
    let run: Awaited<ReturnType<typeof runNoops>>;
    try {
      // Both programs are compiled while they run.
      await runNoops(worker, server.url, there, Math.ceil(count / 4));
      server.reset();
      run = await runNoops(worker, server.url, there, count);
    } finally {
      await (profile ? worker.stop() : worker.kill());
    }
    const usage = server.usage();
    const serverMs = (usage.cpuSeconds * 1000) / count;
    const cost = 'processor time a task';
    return [
      {
        id: 'noop.speed',
        what: `tasks, ${SLOTS} at the same time`,
        unit: '/s',
        value: count / run.seconds,
        server: usage,
        per: { count, what: 'task' },
        targets: [atLeast(150)],
      },
      { id: 'noop.worker', what: `the worker and its children, ${cost}`, unit: 'ms', value: run.workerMs },
      { id: 'noop.server', what: `the server, ${cost}`, unit: 'ms', value: serverMs },
      {
        id: 'noop.all',
        what: `all of them, ${cost}`,
        unit: 'ms',
        value: run.workerMs + serverMs,
        targets: [atMost(8)],
      },
    ];
  },
};
