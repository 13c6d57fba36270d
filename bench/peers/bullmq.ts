import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { oneTaskJob, RESULT } from '../load/sample-job.ts';

/**
 * BullMQ on a Redis that syncs every write: jobs added by 64 at a time, then processed by one worker of
 * concurrency 64 that does nothing but return a result of the usual size. Prints jobs a second, as JSON.
 */
const [port, jobs, warmUp] = process.argv.slice(2).map(Number) as [number, number, number];
const CONCURRENCY = 64;
const connect = () => new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null });
const data = JSON.parse(oneTaskJob('added')) as object;

async function add(queue: Queue, count: number): Promise<number> {
  const began = performance.now();
  let left = count;
  const client = async () => {
    while (left-- > 0) await queue.add('job', data);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, client));
  return count / ((performance.now() - began) / 1000);
}

async function work(name: string, count: number): Promise<number> {
  const connection = connect();
  const worker = new Worker(name, async () => RESULT, {
    connection,
    concurrency: CONCURRENCY,
    autorun: false,
  });
  await worker.waitUntilReady();
  let done = 0;
  const began = performance.now();
  const seconds = new Promise<number>((resolve) => {
    worker.on('completed', () => {
      if (++done === count) resolve((performance.now() - began) / 1000);
    });
  });
  worker.run().catch((error: Error) => {
    throw error;
  });
  const perSecond = count / (await seconds);
  await worker.close();
  connection.disconnect();
  return perSecond;
}

async function measure(name: string, count: number) {
  const connection = connect();
  const queue = new Queue(name, { connection });
  await queue.waitUntilReady();
  const added = await add(queue, count);
  const processed = await work(name, count);
  const { completed } = await queue.getJobCounts('completed');
  if (completed !== count) throw new Error(`${completed} of ${count} jobs are completed`);
  await queue.close();
  connection.disconnect();
  return { add: added, process: processed };
}

await measure('warm-up', warmUp);
process.stdout.write(JSON.stringify(await measure('measured', jobs)));
