import { expectedSeconds, type RunTimes } from '../../../machines/job/run-times.ts';
import { hasEnded, JOB_STATUSES } from '../../../machines/schema/statuses.ts';
import type { Core } from '../core.ts';
import { sql } from '../store/sql.ts';
import { jobsThatAre } from '../store/sql-words.ts';
import { FOR_GOOD } from '../turn/journal.ts';

type Parts = Pick<Core, 'store' | 'queue'>;

/** Under which a queued task stands that asks nothing beyond its requirement, by its number. */
export type KeyOfQueued = (seq: number, requirement: number) => number;

/** Jobs that may have queued tasks. */
const OPEN = jobsThatAre(JOB_STATUSES.filter((status) => !hasEnded(status)));

/** Numbers for each job that is read: its own, whether it has several tasks, its first and last task, their limit. */
const FIELDS = 5;

/**
 * How queued tasks are told apart beyond their requirements (`WorkQueue.keyOf`). Tasks of a job are numbered together, so
 * that it is asked once for each job, and the index of the queue needs to know no more than it does.
 */
export async function keysOfQueued({ store, queue }: Parts): Promise<KeyOfQueued> {
  const isAsked = queue.share === 'job' ? '1 = 1' : 'several = 1 OR seconds IS NOT NULL';
  // One text: very many rows of their own would take seconds to become objects.
  const stored = await store.reader.get<{ entries: string | null }>(
    sql`SELECT string_agg(seq || ',' || several || ',' || first || ',' || last || ',' || coalesce(seconds, 'null'), ',' ORDER BY seq) AS entries
     FROM (SELECT seq, CASE WHEN num_tasks > 1 OR selection IS NOT NULL THEN 1 ELSE 0 END AS several,
             (SELECT MIN(t.seq) FROM tasks t WHERE t.job_id = jobs.id) AS first,
             coalesce(last_seq, (SELECT MAX(t.seq) FROM tasks t WHERE t.job_id = jobs.id)) AS last,
             (SELECT CAST(t.timeout_seconds AS TEXT) FROM tasks t WHERE t.job_id = jobs.id ORDER BY t.seq LIMIT 1) AS seconds
           FROM jobs WHERE ${OPEN}) AS open WHERE ${isAsked}`,
  );
  const jobs = inOrder(JSON.parse(`[${stored?.entries ?? ''}]`) as (number | null)[]);
  for (const { seq, seconds } of jobs)
    if (queue.share === 'job' && seconds !== null) queue.times.set(FOR_GOOD, seq, seconds);
  const elsewhere = await behindTheirJobs(store, jobs);
  return (seq, requirement_id) => {
    const job = elsewhere.get(seq) ?? jobs[lastFrom(jobs, seq)];
    const isOfJob = job !== undefined && (seq <= job.last || elsewhere.has(seq));
    if (!isOfJob) return requirement_id;
    const { several, seconds: timeout_seconds } = job;
    return queue.keyOf(
      { requirement_id, timeout_seconds },
      { seq: job.seq, num_tasks: several ? 2 : 1, selection: null },
    );
  };
}

/** How long tasks take, of the jobs that have shown it. */
export async function recoverTimes({ store, queue }: Parts): Promise<void> {
  const rows = await store.reader.all<{ seq: number; run_times: string }[]>(
    sql`SELECT seq, run_times FROM jobs WHERE ${OPEN} AND run_times IS NOT NULL`,
  );
  for (const { seq, run_times } of rows) {
    const seconds = expectedSeconds(JSON.parse(run_times) as RunTimes);
    if (seconds !== null) queue.times.set(FOR_GOOD, seq, seconds);
  }
}

interface OpenJob {
  seq: number;
  several: boolean;
  first: number;
  last: number;
  seconds: number | null;
}

function inOrder(entries: readonly (number | null)[]): OpenJob[] {
  const jobs: OpenJob[] = [];
  for (let i = 0; i < entries.length; i += FIELDS) {
    const [seq, several, first, last, seconds] = entries.slice(i, i + FIELDS) as [
      number,
      ...(number | null)[],
    ];
    jobs.push({
      seq,
      several: several === 1,
      first: first as number,
      last: last as number,
      seconds: seconds ?? null,
    });
  }
  return jobs.sort((a, b) => a.first - b.first);
}

/** The place of the last job that begins there or before; -1 where there is none. */
function lastFrom(jobs: readonly OpenJob[], seq: number): number {
  let low = 0;
  let high = jobs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((jobs[middle] as OpenJob).first <= seq) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Tasks of jobs that had more of them later than numbers were kept for, by their numbers. */
async function behindTheirJobs(
  store: Core['store'],
  jobs: readonly OpenJob[],
): Promise<ReadonlyMap<number, OpenJob>> {
  const rows = await store.reader.all<{ seq: number; job: number }[]>(
    sql`SELECT t.seq AS seq, jobs.seq AS job FROM jobs JOIN tasks t ON t.job_id = jobs.id AND t.seq > jobs.last_seq
     WHERE jobs.last_seq IS NOT NULL AND ${OPEN} AND t.status = 'queued'`,
  );
  if (rows.length === 0) return new Map();
  const bySeq = new Map(jobs.map((job) => [job.seq, job]));
  return new Map(rows.flatMap(({ seq, job }) => (bySeq.has(job) ? [[seq, bySeq.get(job) as OpenJob]] : [])));
}
