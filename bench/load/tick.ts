import { setTimeout as delay } from 'node:timers/promises';
import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { oneTaskJob, worker } from './sample-job.ts';

/** The text that a tick carries beside its number and time: the size of a usual log line. */
const MESSAGE = 'epoch finished; the validation error went down a little, the model is kept';

/** The data of a tick, sent now. */
export const tickData = (n: number): string =>
  `{"n":${n},"sent":${(performance.timeOrigin + performance.now()).toFixed(2)}}`;

export const tickBody = (n: number): string => `{"type":"tick","message":"${MESSAGE}","data":${tickData(n)}}`;

/** Reports events of one running task at a steady rate, each in a request, and so in a commit, of its own. */
export async function tick(
  { url, perSecond, ticks }: { url: string; perSecond: number; ticks: number },
  control: Control,
): Promise<{ seconds: number }> {
  // One connection: the events are to be committed in the order of their numbers.
  const pool = await HttpPool.open(url, 1);
  await pool.accepted('/v1/jobs', oneTaskJob('ticking'));
  const registered = await pool.accepted('/v1/workers/register', worker('ticking', 1));
  const { worker_id } = JSON.parse(registered) as { worker_id: string };
  const { task } = JSON.parse(await pool.accepted(`/v1/workers/${worker_id}/lease`)) as {
    task: { task_id: string; attempt: number };
  };
  const query = `?worker_id=${worker_id}&attempt=${task.attempt}`;
  await pool.accepted(`/v1/tasks/${task.task_id}/start${query}`);
  await control.ready();
  const began = performance.now();
  const answers: Promise<string>[] = [];
  for (let n = 0; n < ticks; n++) {
    const wait = began + (n * 1000) / perSecond - performance.now();
    if (wait > 0) await delay(wait);
    answers.push(pool.accepted(`/v1/tasks/${task.task_id}/events${query}`, tickBody(n)));
  }
  await Promise.all(answers);
  const seconds = (performance.now() - began) / 1000;
  pool.close();
  return { seconds };
}
