import { setTimeout as delay } from 'node:timers/promises';
import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { oneTaskJob, RESULT, worker } from './sample-job.ts';

/**
 * An idle server and one worker that waits: a job is posted, and two times are taken, in milliseconds: from the
 * POST's sending and from its answer until the worker holds the task. The second is 0 where the task was there
 * before the answer.
 */
export async function latency(
  { url, rounds }: { url: string; rounds: number },
  control: Control,
): Promise<{ fromSent: number[]; fromAnswer: number[] }> {
  const client = await HttpPool.open(url, 1);
  const line = await HttpPool.open(url, 1);
  const registered = await line.accepted('/v1/workers/register', worker('parked', 1));
  const { worker_id } = JSON.parse(registered) as { worker_id: string };
  await control.ready();
  const fromSent: number[] = [];
  const fromAnswer: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const handed = line.accepted(`/v1/workers/${worker_id}/lease`, '{"wait_s":60}').then((text) => ({
      at: performance.now(),
      task: (JSON.parse(text) as { task: { task_id: string; job_id: string; attempt: number } | null }).task,
    }));
    // The server is to be idle, the worker to wait.
    await delay(4);
    const sent = performance.now();
    const { id } = JSON.parse(await client.accepted('/v1/jobs', oneTaskJob('latency'))) as { id: string };
    const answered = performance.now();
    const { at, task } = await handed;
    if (task?.job_id !== id) throw new Error('the worker got another task than the one posted');
    fromSent.push(at - sent);
    fromAnswer.push(Math.max(0, at - answered));
    const query = `?worker_id=${worker_id}&attempt=${task.attempt}`;
    await line.accepted(`/v1/tasks/${task.task_id}/start${query}`);
    await line.accepted(`/v1/tasks/${task.task_id}/complete${query}`, JSON.stringify(RESULT));
  }
  client.close();
  line.close();
  return { fromSent, fromAnswer };
}
