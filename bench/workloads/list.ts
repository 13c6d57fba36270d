import type { Bench } from '../bench.ts';
import { runLoad } from '../load/process.ts';
import { quantile } from '../load/quantiles.ts';
import { matrixJob } from '../load/sample-job.ts';
import type { MeasuredServer } from '../measure/server.ts';
import { cloneJobs } from '../seed/clone.ts';
import { atMost, type Reading, type Workload } from '../workload.ts';
import { getJson, queueJobs, submitOne } from './checks.ts';

export const list: Workload = {
  name: 'list',
  about:
    'Answers of `GET /v1/jobs?limit=100` with filters at 1,000,000 jobs, one request at a time, and of a job of 10,000 finished tasks. The big job and four small ones run through the API; the million are copies of the small ones, rows and tasks, made by SQL in the stopped store.',
  maxRuns: 1,
  async run(bench) {
    const jobs = bench.pick(1_000_000, 100_000, 1000);
    const state = bench.directory();
    const big = await seed(bench, state, jobs);
    const server = await bench.server(state);
    const [newest] = await getJson<{ created_at: number }[]>(server.url, '/v1/jobs?limit=1');
    const middle = (newest?.created_at ?? 0) - jobs / 2000;
    const small = await measure(
      server,
      [
        ['plain', 'newest 100 jobs', '/v1/jobs?limit=100', 100, 20],
        ['cursor', '100 jobs from the middle', `/v1/jobs?limit=100&created_before=${middle}`, 100, 20],
        ['status', 'newest 100 queued jobs', '/v1/jobs?limit=100&status=queued', 100, 20],
        ['ended', 'newest 100 succeeded jobs', '/v1/jobs?limit=100&status=succeeded', 100, 20],
        ['absent', 'no job has the status', '/v1/jobs?limit=100&status=cancelling', 0, 20],
        ['name', 'a name that many have', '/v1/jobs?limit=100&name=run-', 100, 20],
        ['both', 'status and name', '/v1/jobs?limit=100&status=succeeded&name=run-', 100, 20],
        ['rare', 'a name that one has, the oldest', '/v1/jobs?limit=100&name=the%20oldest', 1, 20],
        ['stats', 'GET /v1/stats', '/v1/stats', 1, 20],
      ],
      bench.pick(200, 50, 3),
    );
    // Apart from the others: what it leaves to the garbage collector is not their cost.
    const large = await measure(
      server,
      [
        ['job', `job of ${bench.pick('10,000', '10,000', '100')} finished tasks`, `/v1/jobs/${big}`, 1, 60],
        ['tasks', 'its list of tasks', `/v1/jobs/${big}/tasks`, bench.pick(10_000, 10_000, 100), 0],
        ['events', '500 of its events', `/v1/jobs/${big}/events`, bench.pick(500, 500, 100), 20],
      ],
      bench.pick(50, 10, 3),
    );
    return [...small, ...large];
  },
};

type Question = [id: string, what: string, path: string, atLeast: number, bound: number];

async function measure(server: MeasuredServer, questions: Question[], rounds: number): Promise<Reading[]> {
  const paths = questions.map(([, , path, atLeast]) => ({ path, atLeast }));
  await runLoad('list', { url: server.url, paths, rounds: Math.ceil(rounds / 10) });
  server.reset();
  const { times } = await runLoad('list', { url: server.url, paths, rounds });
  return questions.flatMap(([id, what, , , bound], i): Reading[] => {
    const taken = times[i] as number[];
    return [
      {
        id: `list.${id}`,
        what: `${what}, p99`,
        unit: 'ms',
        value: quantile(taken, 0.99),
        ...(bound > 0 ? { targets: [atMost(bound)] } : {}),
        ...(i === 0 ? { server: server.usage() } : {}),
      },
      { id: `list.${id}.p50`, what: `${what}, p50`, unit: 'ms', value: quantile(taken, 0.5) },
    ];
  });
}

/** Fills a state directory and returns the id of the job with many tasks. */
async function seed(bench: Bench, state: string, jobs: number): Promise<string> {
  const server = await bench.server(state);
  const { url } = server;
  const side = bench.pick(100, 100, 10);
  await submitOne(url, JSON.stringify({ ...JSON.parse(matrixJob(1, 1)), name: 'the oldest' }));
  const big = await submitOne(url, matrixJob(side, side));
  await runLoad('batchLifecycle', { url, tasks: side * side + 1, workers: 8, batch: 64 });
  await queueJobs(url, 3);
  await runLoad('lifecycle', { url, tasks: 2, workers: 1 });
  const small = await getJson<{ id: string }[]>(url, '/v1/jobs?limit=3');
  await server.stop();
  await cloneJobs(
    state,
    small.map(({ id }) => id),
    jobs,
  );
  return big;
}
