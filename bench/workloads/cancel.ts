import { runLoad } from '../load/process.ts';
import { quantile } from '../load/quantiles.ts';
import { atMost, type Reading, type Workload } from '../workload.ts';

export const cancel: Workload = {
  name: 'cancel',
  about:
    '25 workers each run a task and hold a heartbeat open; 500 cancels, one after the other. Taken from the sending of the cancel and from its answer until the worker was told (0 where it knew first).',
  async run(bench) {
    const workers = bench.pick(25, 10, 3);
    const server = await bench.server();
    await runLoad('cancel', { url: server.url, workers, rounds: bench.pick(4, 1, 1) });
    server.reset();
    const { fromSent, fromAnswer } = await runLoad('cancel', {
      url: server.url,
      workers,
      rounds: bench.pick(20, 5, 1),
    });
    const figure = (id: string, what: string, value: number): Reading => ({ id, what, unit: 'ms', value });
    return [
      {
        ...figure('cancel.answer.p99', 'cancel answered to worker told, p99', quantile(fromAnswer, 0.99)),
        targets: [atMost(20)],
        server: server.usage(),
      },
      {
        ...figure('cancel.sent.p99', 'cancel sent to worker told, p99', quantile(fromSent, 0.99)),
        targets: [atMost(20)],
      },
      figure('cancel.sent.p50', 'cancel sent to worker told, p50', quantile(fromSent, 0.5)),
    ];
  },
};
