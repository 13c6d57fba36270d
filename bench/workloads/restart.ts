import type { Bench } from '../bench.ts';
import { runLoad, startLoad } from '../load/process.ts';
import { quantile } from '../load/quantiles.ts';
import type { MeasuredServer } from '../measure/server.ts';
import { cloneJobs } from '../seed/clone.ts';
import { atMost, type Reading, type Workload } from '../workload.ts';
import { assertStats, getJson, queueJobs } from './checks.ts';

const MIB = 2 ** 20;

export const restart: Workload = {
  name: 'restart',
  about:
    'A state of 1,000,000 queued tasks (matrix jobs through the API), 10,000 running on 10,000 workers of one slot each, and 100,000 finished jobs with their events (copies of three, made by SQL in the stopped store). The server is ended with SIGKILL and started again; from the start of the process until a new worker holds its first task. Memory is compared with the same on an empty state with one task.',
  maxRuns: 1,
  async run(bench) {
    const workers = bench.pick(10_000, 1000, 20);
    const queued = bench.pick(1_000_000, 100_000, 1000);
    const finished = bench.pick(100_000, 10_000, 100);
    const rounds = bench.pick(3, 2, 1);
    const state = bench.directory();
    await seedFinished(bench, state, finished);
    const filling = await bench.server(state);
    await runLoad('fill', { url: filling.url, tasks: workers, requirements: 1 });
    await queueJobs(filling.url, rounds);
    await runLoad('occupy', { url: filling.url, workers });
    const without = await restarts(bench, filling, rounds);
    const again = await bench.server(state);
    await runLoad('fill', { url: again.url, tasks: queued, requirements: 1 });
    await assertStats(again.url, { running: workers, leased: rounds, queued });
    const full = await restarts(bench, again, rounds);
    const single = await bench.server();
    await queueJobs(single.url, rounds);
    const empty = await restarts(bench, single, rounds);
    const perTask = (base: Restarts) =>
      full.peaks.map((peak, i) => (peak - (base.peaks[i] as number)) / queued);
    return [
      {
        id: 'restart.first',
        what: 'start of the process to first lease, full state',
        unit: 's',
        value: full.seconds,
        targets: [atMost(5)],
      },
      { id: 'restart.empty', what: 'the same, empty state', unit: 's', value: empty.seconds },
      {
        id: 'restart.bytes',
        what: 'peak memory over the empty server, a queued task',
        unit: 'B',
        value: perTask(empty),
        targets: [atMost(300)],
      },
      {
        id: 'restart.bytes.queue',
        what: 'peak memory over the same server without the queued tasks, a queued task',
        unit: 'B',
        value: perTask(without),
      },
      { id: 'restart.peak', what: 'peak memory', unit: 'MiB', value: full.peaks.map((peak) => peak / MIB) },
      ...(await answers(bench, state, workers)),
    ];
  },
};

interface Restarts {
  seconds: number[];
  /** Peak memory until the first lease, bytes. */
  peaks: number[];
}

/** Kills a server and starts it again until it has leased a task, several times. */
async function restarts(bench: Bench, before: MeasuredServer, rounds: number): Promise<Restarts> {
  const done: Restarts = { seconds: [], peaks: [] };
  await before.kill();
  for (let round = 0; round < rounds; round++) {
    const server = await bench.server(before.state);
    // The start of the worker's process is not the server's.
    const load = await startLoad('firstLease', { url: server.url });
    const { seconds } = await load.go();
    done.seconds.push(server.startSeconds + seconds);
    done.peaks.push(server.usage().peakBytes);
    await server.kill();
  }
  return done;
}

/** What people ask such a server, milliseconds. */
async function answers(bench: Bench, state: string, workers: number): Promise<Reading[]> {
  const server = await bench.server(state);
  const paths = [
    { path: '/v1/stats', atLeast: 1 },
    { path: '/v1/jobs?limit=100', atLeast: 100 },
    { path: '/v1/stats/history', atLeast: 60 },
    { path: '/v1/workers', atLeast: workers },
  ];
  await runLoad('list', { url: server.url, paths, rounds: bench.pick(10, 5, 1) });
  const { times } = await runLoad('list', { url: server.url, paths, rounds: bench.pick(100, 20, 3) });
  return paths.map(({ path }, i) => ({
    id: `restart.${path}`,
    what: `GET ${path} there, p99`,
    unit: 'ms',
    value: quantile(times[i] as number[], 0.99),
  }));
}

async function seedFinished(bench: Bench, state: string, finished: number): Promise<void> {
  const server = await bench.server(state);
  await queueJobs(server.url, 3);
  await runLoad('lifecycle', { url: server.url, tasks: 3, workers: 1 });
  const jobs = await getJson<{ id: string }[]>(server.url, '/v1/jobs?limit=3');
  await server.stop();
  await cloneJobs(
    state,
    jobs.map(({ id }) => id),
    finished,
    true,
  );
}
