import { once } from 'node:events';
import { forkScript, runLoad } from '../load/process.ts';
import type { Reading, Workload } from '../workload.ts';

/** The clients that a load can use. */
const CLIENTS = ['raw', 'undici'] as const;

export const generator: Workload = {
  name: 'generator',
  about:
    'The load generator against a bare uWebSockets.js server that echoes a job: what it could ask for. The raw client (kept connections on node:net) makes the loads; undici is measured beside it.',
  async run(bench) {
    const requests = bench.pick(100_000, 20_000, 500);
    const server = forkScript('echo-server.ts');
    const [{ port }] = (await once(server, 'message')) as [{ port: number }];
    const readings: Reading[] = [];
    try {
      for (const client of CLIENTS) {
        for (const connections of [64, 256]) {
          const url = `http://127.0.0.1:${port}`;
          const { perSecond, generatorCpuSeconds } = await runLoad('echo', {
            url,
            requests,
            connections,
            client,
          });
          readings.push({
            id: `generator.${client}.${connections}`,
            what: `requests echoed, ${client}, ${connections} connections`,
            unit: '/s',
            value: perSecond,
          });
          readings.push({
            id: `generator.${client}.${connections}.cpu`,
            what: `processor time of the client a request, ${client}, ${connections} connections`,
            unit: 'µs',
            value: (generatorCpuSeconds / requests) * 1e6,
          });
        }
      }
    } finally {
      server.kill('SIGKILL');
    }
    return readings;
  },
};
