import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { startLoad } from '../load/process.ts';
import { median } from '../load/quantiles.ts';
import { atMost, type Workload } from '../workload.ts';

const MIB = 2 ** 20;

export const soak: Workload = {
  name: 'soak',
  about:
    'Mixed load at a steady pace for half an hour: 100 one-task jobs and a matrix of 20 tasks a second, 32 workers that report progress and sometimes fail, cancels, lists, 20 followers of the global stream. Latency is that of a submission: the last minute against the first (without its first half minute). Memory is resident memory: the median of the last fifth of the time against that of the second fifth.',
  maxRuns: 1,
  onlyWhenNamed: true,
  async run(bench) {
    const seconds = bench.pick(bench.options.minutes * 60, 20, 3);
    const server = await bench.server();
    const load = await startLoad('soak', {
      url: server.url,
      seconds,
      jobsPerSecond: bench.pick(100, 100, 20),
      workers: bench.pick(32, 32, 4),
      followers: bench.pick(20, 20, 2),
      window: Math.min(60, seconds / 3),
    });
    const memory: number[] = [];
    const log: number[] = [];
    const sample = setInterval(() => {
      memory.push(server.usage().bytes / MIB);
      log.push(walBytes(server.state) / MIB);
    }, seconds * 5);
    const done = await load.go().finally(() => clearInterval(sample));
    if (done.left > 0) throw new Error(`${done.left} tasks were never done`);
    const fifth = (n: number) =>
      median(memory.slice(Math.floor((n * memory.length) / 5), Math.ceil(((n + 1) * memory.length) / 5)));
    return [
      {
        id: 'soak.p50',
        what: `latency of the last minute over the first, p50 (${done.submitted} tasks in ${Math.round(seconds / 60)} minutes)`,
        unit: '×',
        value: done.last.p50 / done.first.p50,
        targets: [atMost(1.2)],
        server: server.usage(),
        per: { count: done.submitted, what: 'task' },
      },
      {
        id: 'soak.p99',
        what: 'latency of the last minute over the first, p99',
        unit: '×',
        value: done.last.p99 / done.first.p99,
        targets: [atMost(1.2)],
      },
      { id: 'soak.last', what: 'submission in the last minute, p50', unit: 'ms', value: done.last.p50 },
      { id: 'soak.last99', what: 'submission in the last minute, p99', unit: 'ms', value: done.last.p99 },
      {
        id: 'soak.memory',
        what: 'memory at the end over memory at the beginning',
        unit: '×',
        value: fifth(4) / fifth(1),
        targets: [atMost(1.1)],
      },
      { id: 'soak.rss', what: 'memory at the end', unit: 'MiB', value: fifth(4) },
      {
        id: 'soak.wal',
        what: 'largest write-ahead log',
        unit: 'MiB',
        value: Math.max(...log),
        targets: [atMost(64)],
      },
    ];
  },
};

function walBytes(state: string): number {
  const path = join(state, 'store.sqlite-wal');
  return existsSync(path) ? statSync(path).size : 0;
}
