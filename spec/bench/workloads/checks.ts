import { HttpPool } from '../load/http-pool.ts';
import { runLoad } from '../load/process.ts';
import { oneTaskJob } from '../load/sample-job.ts';

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
