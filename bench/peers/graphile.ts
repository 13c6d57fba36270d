import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { until } from '../../spec/support/until.ts';
import { oneTaskJob, RESULT } from '../load/sample-job.ts';

/**
 * graphile-worker on PostgreSQL with fsync: jobs added by 64 at a time, then processed by one runner of
 * concurrency 64 whose task does nothing. Prints jobs a second, as JSON.
 */
const [port, jobs, warmUp] = process.argv.slice(2).map(Number) as [number, number, number];
const CONCURRENCY = 64;
// A log line a job would be measured too.
const logger = new Logger(() => () => {});
const pgPool = new pg.Pool({
  host: '127.0.0.1',
  port,
  user: 'postgres',
  database: 'postgres',
  max: CONCURRENCY,
});
pgPool.on('error', (fault) => {
  throw fault;
});
const data = JSON.parse(oneTaskJob('added')) as object;
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();

async function add(count: number): Promise<number> {
  const began = performance.now();
  let left = count;
  const client = async () => {
    while (left-- > 0) await utils.addJob('job', data);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, client));
  return count / ((performance.now() - began) / 1000);
}

async function work(count: number): Promise<number> {
  let done = 0;
  let finished = () => {};
  const all = new Promise<void>((resolve) => {
    finished = resolve;
  });
  const began = performance.now();
  const runner = await run({
    pgPool,
    logger,
    concurrency: CONCURRENCY,
    noHandleSignals: true,
    taskList: { job: async () => RESULT as never },
  });
  runner.events.on('job:complete', () => {
    if (++done === count) finished();
  });
  await all;
  const perSecond = count / ((performance.now() - began) / 1000);
  await runner.stop();
  return perSecond;
}

async function measure(count: number) {
  const added = await add(count);
  const processed = await work(count);
  // The last event may come before its row is gone.
  await until('no job is left', async () => {
    const { rows } = await pgPool.query<{ n: number }>('SELECT COUNT(*)::int AS n FROM graphile_worker.jobs');
    return rows[0]?.n === 0;
  });
  return { add: added, process: processed };
}

await measure(warmUp);
process.stdout.write(JSON.stringify(await measure(jobs)));
await utils.release();
await pgPool.end();
