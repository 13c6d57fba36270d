import type { EventQuery, Reads } from '../../gateway/ports.ts';
import { ClusterError } from '../../machines/errors.ts';
import { RawJson } from '../../machines/json/raw.ts';
import type { Aggregate, EventView, StatsMinute } from '../../machines/schema/views.ts';
import type { Clock } from '../clock.ts';
import type { Prepared } from '../store/prepared.ts';
import type { ArtifactRow, JobRow, MinuteRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { ARTIFACTS, EVENTS, JOBS, type SqlRow, type Table } from '../store/tables.ts';
import type { Live } from '../supervisor/live.ts';
import { jobView } from '../views.ts';
import { listArtifacts } from './artifacts.ts';
import { jobList } from './jobs.ts';
import { errorsOf, rankingOf } from './ranking.ts';
import { listTasks } from './tasks.ts';

/** So many jobs are looked at one by one in a few milliseconds. */
const FEW = 5000;

/** The queries behind the GETs: rows from the store, and from memory what is never stored at once. */
export function createReads(store: Store, live: Live, clock: Clock): Reads {
  const db = store.queries;

  async function all<Row>(table: Table<Row>, sql: string, ...params: unknown[]): Promise<Row[]> {
    const rows = await db.all<SqlRow[]>(`SELECT * FROM ${table.name} ${sql}`, ...params);
    return rows.map((row) => table.decode(row));
  }

  async function jobRow(id: string): Promise<JobRow> {
    const [row] = await all<JobRow>(JOBS, 'WHERE id = ?', id);
    if (!row) throw ClusterError.unknown('job', id);
    return row;
  }

  async function assertExists(table: 'jobs' | 'tasks', what: string, id: string): Promise<void> {
    if (!(await db.get(`SELECT 1 FROM ${table} WHERE id = ?`, id))) throw ClusterError.unknown(what, id);
  }

  return {
    async jobs(query) {
      const { sql, params } = jobList(query, (status) => (live.stats().jobs_by_status[status] ?? 0) <= FEW);
      const rows = await db.all<SqlRow[]>(sql, ...params);
      return rows.map((row) => jobView(JOBS.decode(row), [], {}));
    },

    async job(id) {
      const row = await jobRow(id);
      const ranking = row.counts.succeeded > 0 ? await rankingOf(db, row) : [];
      const errors = row.counts.failed > 0 ? await errorsOf(db, row) : {};
      return jobView(row, ranking as Aggregate['ranking'], errors as Aggregate['errors']);
    },

    async jobRequest(id) {
      const row = await db.get<{ request: string }>('SELECT request FROM job_requests WHERE job_id = ?', id);
      if (!row) throw ClusterError.unknown('job', id);
      return new RawJson(row.request);
    },

    async tasks(jobId) {
      return (await listTasks(db, live, jobId)) ?? Promise.reject(ClusterError.unknown('job', jobId));
    },

    async events(query) {
      const { sql, params } = eventFilter(query);
      const page = await store.pages.all<SqlRow[]>(`SELECT * FROM events ${sql}`, params);
      const rows = page.map((row) => EVENTS.decode(row) as EventView);
      if (rows.length === 0 && query.job_id !== undefined) await assertExists('jobs', 'job', query.job_id);
      return query.before_id === undefined ? rows : rows.reverse();
    },

    async eventIdBefore(count) {
      const row = await db.get<{ id: number }>(
        'SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?',
        count,
      );
      return row?.id ?? 0;
    },

    async jobArtifacts(jobId) {
      return listArtifacts(db, await jobRow(jobId));
    },

    async artifact(id) {
      const [row] = await all<ArtifactRow>(ARTIFACTS, 'WHERE id = ?', id);
      if (!row) throw ClusterError.unknown('artifact', id);
      return row;
    },

    async stats() {
      return live.stats();
    },

    async statsHistory() {
      return lastHour(db, Math.floor(clock.now() / 60));
    },

    async workers() {
      return live.workers();
    },

    stateCounts: (machine) => live.stateCounts(machine),

    assertTask: (id) => assertExists('tasks', 'task', id),
  };
}

function eventFilter({ job_id, task_id, after_id, before_id, limit }: EventQuery): {
  sql: string;
  params: (string | number)[];
} {
  const conditions = ['id > ?'];
  const params: (string | number)[] = [after_id];
  const bounds = { 'job_id = ?': job_id, 'task_id = ?': task_id, 'id < ?': before_id };
  for (const [condition, bound] of Object.entries(bounds)) {
    if (bound === undefined) continue;
    conditions.push(condition);
    params.push(bound);
  }
  const order = before_id === undefined ? 'id' : 'id DESC';
  return { sql: `WHERE ${conditions.join(' AND ')} ORDER BY ${order} LIMIT ?`, params: [...params, limit] };
}

/** Sixty minutes up to the present one; a minute without a commit carries the queue length on. */
async function lastHour(db: Prepared, present: number): Promise<StatsMinute[]> {
  const first = present - 59;
  const rows = await db.all<MinuteRow[]>(
    'SELECT * FROM stats_minutes WHERE minute >= ? ORDER BY minute',
    first,
  );
  const before = await db.get<MinuteRow>(
    'SELECT * FROM stats_minutes WHERE minute < ? ORDER BY minute DESC LIMIT 1',
    first,
  );
  const byMinute = new Map(rows.map((row) => [row.minute, row]));
  let { queued = 0, workers_alive = 0 } = before ?? {};
  return Array.from({ length: 60 }, (_, i) => {
    const row = byMinute.get(first + i);
    if (row) ({ queued, workers_alive } = row);
    const { submitted = 0, started = 0, succeeded = 0, failed = 0 } = row ?? {};
    return { ts: (first + i) * 60, submitted, started, succeeded, failed, queued, workers_alive };
  });
}
