import { setTimeout as delay } from 'node:timers/promises';
import { FrameReader } from './frames.ts';
import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { quantile } from './quantiles.ts';
import { matrixJob, oneTaskJob, RESULT, worker } from './sample-job.ts';

export interface SoakParams {
  url: string;
  seconds: number;
  /** One-task jobs submitted a second. */
  jobsPerSecond: number;
  workers: number;
  followers: number;
  /** Seconds whose latencies are compared, at the beginning and at the end. */
  window: number;
}

interface Task {
  task_id: string;
  attempt: number;
}

/** Latencies of one kind of request by the second in which it was sent, milliseconds. */
class Latencies {
  readonly #began = performance.now();
  readonly #times: { at: number; took: number }[] = [];

  async of<Value>(request: () => Promise<Value>): Promise<Value> {
    const sent = performance.now();
    const answer = await request();
    this.#times.push({ at: (sent - this.#began) / 1000, took: performance.now() - sent });
    return answer;
  }

  between(from: number, to: number): number[] {
    return this.#times.filter(({ at }) => at >= from && at < to).map(({ took }) => took);
  }
}

/**
 * Mixed load for minutes: jobs at a steady rate, a matrix job every second, workers that report progress and
 * sometimes fail, cancels, lists, and followers of the global stream. Everything submitted is done at the end.
 */
export async function soak(params: SoakParams, control: Control) {
  const { url, seconds, window } = params;
  const clients = await HttpPool.open(url, 32);
  const lines = await HttpPool.open(url, params.workers);
  let frames = 0;
  const followers = await Promise.all(
    Array.from({ length: params.followers }, () =>
      FrameReader.open(url, '/v1/events/stream', () => {
        frames++;
      }),
    ),
  );
  let lost: Error | null = null;
  for (const follower of followers) {
    follower.onFault((error) => {
      lost = error;
    });
  }
  await control.ready();
  const latencies = new Latencies();
  const state = { over: false, submitted: 0, ended: 0 };
  const working = Array.from({ length: params.workers }, (_, i) => work(lines, i, state));
  const end = performance.now() + seconds * 1000;
  await Promise.all([
    every(1000 / params.jobsPerSecond, end, async () => {
      await latencies.of(() => clients.accepted('/v1/jobs', oneTaskJob('soaked')));
      state.submitted++;
    }),
    every(1000, end, async () => {
      await clients.accepted('/v1/jobs', matrixJob(10, 2));
      state.submitted += 20;
    }),
    every(500, end, () => cancelOne(clients)),
    every(200, end, () => clients.read('/v1/jobs?limit=100')),
    every(1000, end, () => clients.read('/v1/workers')),
  ]);
  const left = await drained(clients);
  state.over = true;
  await Promise.all(working);
  if (lost) throw lost;
  for (const follower of followers) follower.close();
  clients.close();
  lines.close();
  const first = latencies.between(window / 2, window * 1.5);
  const last = latencies.between(seconds - window, seconds);
  return {
    submitted: state.submitted,
    ended: state.ended,
    left,
    frames,
    first: { p50: quantile(first, 0.5), p99: quantile(first, 0.99) },
    last: { p50: quantile(last, 0.5), p99: quantile(last, 0.99) },
  };
}

/** Begins a request at a steady pace and waits for all of them at the end. */
async function every(milliseconds: number, end: number, act: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  const acts = new Set<Promise<unknown>>();
  let fault: unknown = null;
  for (let n = 0; fault === null; n++) {
    const at = began + n * milliseconds;
    if (at >= end) break;
    const wait = at - performance.now();
    if (wait > 0) await delay(wait);
    const acting: Promise<unknown> = act()
      .catch((reason: unknown) => {
        fault ??= reason;
      })
      .finally(() => acts.delete(acting));
    acts.add(acting);
  }
  await Promise.all(acts);
  if (fault !== null) throw fault;
}

/** A worker that reports progress; one task in twenty fails for good. Reports of cancelled tasks are refused. */
async function work(pool: HttpPool, i: number, state: { over: boolean; ended: number }): Promise<void> {
  const registered = await pool.accepted('/v1/workers/register', worker(`soaking-${i}`, 1));
  const { worker_id } = JSON.parse(registered) as { worker_id: string };
  for (let n = i; !state.over; n++) {
    const leased = await pool.accepted(`/v1/workers/${worker_id}/lease`, '{"wait_s":1}');
    const { task } = JSON.parse(leased) as { task: Task | null };
    if (!task) continue;
    const query = `?worker_id=${worker_id}&attempt=${task.attempt}`;
    const report = (verb: string, body: object) =>
      pool.post(`/v1/tasks/${task.task_id}/${verb}${query}`, JSON.stringify(body));
    await report('start', {});
    await report('events', { type: 'progress', progress: 0.5, message: 'half of it' });
    if (n % 20 === 0) await report('fail', { error: 'the spectra are empty', retriable: false });
    else await report('complete', RESULT);
    state.ended++;
  }
}

/** Cancels the newest job that still waits, if there is one. */
async function cancelOne(pool: HttpPool): Promise<void> {
  const [job] = JSON.parse(await pool.read('/v1/jobs?limit=1&status=queued')) as { id: string }[];
  if (job) await pool.accepted(`/v1/jobs/${job.id}/cancel`);
}

/** Waits until nothing is queued or held; how many tasks are left after two minutes. */
async function drained(pool: HttpPool): Promise<number> {
  let left = 0;
  for (let tries = 0; tries < 1200; tries++) {
    const stats = JSON.parse(await pool.read('/v1/stats')) as { tasks_by_status: Record<string, number> };
    const { queued = 0, leased = 0, running = 0 } = stats.tasks_by_status;
    left = queued + leased + running;
    if (left === 0) break;
    await delay(100);
  }
  return left;
}
