import { setTimeout as delay } from 'node:timers/promises';
import { HttpPool } from '../load/http-pool.ts';
import { runLoad } from '../load/process.ts';
import { oneTaskJob } from '../load/sample-job.ts';

const LOOK_MS = 100;

interface Stats {
  jobs_by_status: Record<string, number>;
  tasks_by_status: Record<string, number>;
}

/**
 * The server's own counters after a load, which say whether it was all done.
 * @throws Error when a number of tasks is another one
 */
export async function assertStats(url: string, tasks: Readonly<Record<string, number>>): Promise<void> {
  const { tasks_by_status } = await getJson<Stats>(url, '/v1/stats');
  for (const [status, expected] of Object.entries(tasks)) {
    const found = tasks_by_status[status] ?? 0;
    if (found !== expected)
      throw new Error(`the server counts ${found} ${status} tasks, expected ${expected}`);
  }
}

export async function getJson<Value>(url: string, path: string): Promise<Value> {
  const pool = await HttpPool.open(url, 1);
  try {
    return JSON.parse(await pool.read(path)) as Value;
  } finally {
    pool.close();
  }
}

/** Queues one-task jobs, unmeasured. */
export async function queueJobs(url: string, jobs: number): Promise<void> {
  const { accepted } = await runLoad('submit', { url, jobs, connections: 256 });
  if (accepted !== jobs) throw new Error(`${accepted} of ${jobs} jobs were accepted`);
}

/** Submits one job and returns its id. */
export async function submitOne(url: string, body: string = oneTaskJob('one')): Promise<string> {
  const pool = await HttpPool.open(url, 1);
  try {
    return (JSON.parse(await pool.accepted('/v1/jobs', body)) as { id: string }).id;
  } finally {
    pool.close();
  }
}

interface DoneJob {
  id: string;
  status: string;
  created_at: number;
  updated_at: number;
  aggregate: { num_succeeded: number };
}

/**
 * Submits a job and waits until all of its so many tasks have succeeded.
 * @returns its id, and seconds from its submission to the end of its last task
 * @throws Error when one does not succeed
 */
export async function runJob(
  url: string,
  job: object,
  count: number,
): Promise<{ id: string; seconds: number }> {
  const id = await submitOne(url, JSON.stringify(job));
  for (;;) {
    // The list leaves out the ranking, so that to look costs little beside what is measured.
    const [now] = await getJson<[DoneJob]>(url, '/v1/jobs?limit=1');
    if (now.id !== id) throw new Error(`${now.id} was submitted meanwhile`);
    const { num_succeeded } = now.aggregate;
    if (now.status === 'succeeded' && num_succeeded === count) {
      return { id, seconds: now.updated_at - now.created_at };
    }
    if (!/^(queued|running)$/.test(now.status))
      throw new Error(`${num_succeeded} of ${count} tasks succeeded`);
    await delay(LOOK_MS);
  }
}
