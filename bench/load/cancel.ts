import { setTimeout as delay } from 'node:timers/promises';
import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { oneTaskJob, worker } from './sample-job.ts';

interface Running {
  worker_id: string;
  task_id: string;
  job_id: string;
  attempt: number;
}

/**
 * Workers that each run a task and hold a heartbeat open; their jobs are cancelled one after the other.
 * Milliseconds from the sending of the cancel, and from its answer, until the worker knows (0 where it knew first).
 */
export async function cancel(
  { url, workers, rounds }: { url: string; workers: number; rounds: number },
  control: Control,
): Promise<{ fromSent: number[]; fromAnswer: number[] }> {
  const client = await HttpPool.open(url, 1);
  const lines = await HttpPool.open(url, workers);
  const ids = await Promise.all(
    Array.from({ length: workers }, async (_, i) => {
      const registered = await lines.accepted('/v1/workers/register', worker(`cancelled-${i}`, 1));
      return (JSON.parse(registered) as { worker_id: string }).worker_id;
    }),
  );
  await control.ready();
  const fromSent: number[] = [];
  const fromAnswer: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const running = await Promise.all(ids.map((id) => run(lines, id)));
    const told = running.map((task) => heartbeat(lines, task));
    // The heartbeats are to be held by the server.
    await delay(20);
    for (const [i, { job_id, worker_id, task_id, attempt }] of running.entries()) {
      const sent = performance.now();
      await client.accepted(`/v1/jobs/${job_id}/cancel`);
      const answered = performance.now();
      const at = await (told[i] as Promise<number>);
      fromSent.push(at - sent);
      fromAnswer.push(Math.max(0, at - answered));
      const query = `?worker_id=${worker_id}&attempt=${attempt}`;
      await lines.accepted(`/v1/tasks/${task_id}/fail${query}`, '{"error":"cancelled","retriable":false}');
    }
  }
  client.close();
  lines.close();
  return { fromSent, fromAnswer };
}

async function run(pool: HttpPool, worker_id: string): Promise<Running> {
  await pool.accepted('/v1/jobs', oneTaskJob('to be cancelled'));
  const leased = JSON.parse(await pool.accepted(`/v1/workers/${worker_id}/lease`)) as {
    task: Running | null;
  };
  if (!leased.task) throw new Error('no task to run');
  const { task_id, job_id, attempt } = leased.task;
  await pool.accepted(`/v1/tasks/${task_id}/start?worker_id=${worker_id}&attempt=${attempt}`);
  return { worker_id, task_id, job_id, attempt };
}

/** Holds heartbeats open until one names the task; when that was. */
async function heartbeat(pool: HttpPool, { worker_id, task_id, attempt }: Running): Promise<number> {
  const body = JSON.stringify({ active: [{ task_id, attempt }], wait_s: 10 });
  for (let beats = 0; beats < 100; beats++) {
    const text = await pool.accepted(`/v1/workers/${worker_id}/heartbeat`, body);
    const at = performance.now();
    const { cancel_task_ids } = JSON.parse(text) as { cancel_task_ids: string[] };
    if (cancel_task_ids.includes(task_id)) return at;
  }
  throw new Error('the worker was never told to stop its task');
}
