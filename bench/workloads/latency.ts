import { runLoad } from '../load/process.ts';
import { quantile } from '../load/quantiles.ts';
import { atMost, type Reading, type Workload } from '../workload.ts';

export const latency: Workload = {
  name: 'latency',
  about:
    'An idle server with one parked worker: a job is posted, and the worker gets its task. Taken from the sending of the POST and from its answer (0 where the task came first).',
  async run(bench) {
    const server = await bench.server();
    // The first requests of a process meet code that is not compiled yet.
    await runLoad('latency', { url: server.url, rounds: bench.pick(300, 50, 5) });
    server.reset();
    const { fromSent, fromAnswer } = await runLoad('latency', {
      url: server.url,
      rounds: bench.pick(500, 200, 20),
    });
    const used = server.usage();
    const figure = (id: string, what: string, value: number): Reading => ({ id, what, unit: 'ms', value });
    return [
      {
        ...figure('latency.sent.p50', 'POST sent to task handed over, p50', quantile(fromSent, 0.5)),
        server: used,
      },
      figure('latency.sent.p99', 'POST sent to task handed over, p99', quantile(fromSent, 0.99)),
      {
        ...figure('latency.answer.p50', 'POST answered to task handed over, p50', quantile(fromAnswer, 0.5)),
        targets: [atMost(2, 'latency.commit')],
      },
      figure('latency.answer.p99', 'POST answered to task handed over, p99', quantile(fromAnswer, 0.99)),
    ];
  },
};
