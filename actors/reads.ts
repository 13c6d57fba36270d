import type { EventQuery, JobQuery, Reads } from '../gateway/ports.ts';
import { ClusterError } from '../machines/errors.ts';
import { RawJson } from '../machines/json/raw.ts';
import type { StatsMinute, Waiting } from '../machines/schema/views.ts';
import { listArtifacts } from './artifact-list.ts';
import type { Clock } from './clock.ts';
import type { Connection } from './store/open.ts';
import type { ArtifactRow, EventRow, JobRow, MinuteRow, TaskRow } from './store/rows.ts';
import type { Store } from './store/store.ts';
import { ARTIFACTS, EVENTS, JOBS, type SqlRow, TASKS, type Table } from './store/tables.ts';
import type { Live } from './supervisor/live.ts';
import { jobView, rankTasks, taskView } from './views.ts';

/** The queries behind the GETs: rows from the store, and from memory what is never stored at once. */
export function createReads(store: Store, live: Live, clock: Clock): Reads {
  const db: Connection = store.queries;

  async function all<Row>(table: Table<Row>, sql: string, ...params: unknown[]): Promise<Row[]> {
    const rows = await db.all<SqlRow[]>(`SELECT * FROM ${table.name} ${sql}`, params);
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
      const { sql, params } = jobFilter(query);
      return (await all<JobRow>(JOBS, sql, ...params)).map((row) => jobView(row, [], {}));
    },

    async job(id) {
      const row = await jobRow(id);
      const ended = "WHERE job_id = ? AND status IN ('succeeded', 'failed') ORDER BY seq";
      const tasks = row.counts.succeeded + row.counts.failed > 0 ? await all<TaskRow>(TASKS, ended, id) : [];
      const failed = tasks.filter((task) => task.status === 'failed');
      const errors = Object.fromEntries(failed.map((task) => [task.id, task.error ?? 'failed']));
      return jobView(
        row,
        rankTasks(
          row,
          tasks.filter((task) => task.status === 'succeeded'),
        ),
        errors,
      );
    },

    async jobRequest(id) {
      const row = await db.get<{ request: string }>('SELECT request FROM job_requests WHERE job_id = ?', id);
      if (!row) throw ClusterError.unknown('job', id);
      return new RawJson(row.request);
    },

    async tasks(jobId) {
      await assertExists('jobs', 'job', jobId);
      const waiting = new Map<number, Waiting[]>();
      const waitingFor = ({ status, requirement_id }: TaskRow): Waiting[] => {
        if (status !== 'queued') return [];
        const known = waiting.get(requirement_id) ?? live.waitingFor(requirement_id);
        waiting.set(requirement_id, known);
        return known;
      };
      const rows = await all<TaskRow>(TASKS, 'WHERE job_id = ? ORDER BY seq', jobId);
      return rows.map((row) =>
        taskView(row, live.requirements(row.requirement_id), live.leaseExpiresAt(row.id), waitingFor(row)),
      );
    },

    async events(query) {
      const { sql, params } = eventFilter(query);
      const rows = await all<EventRow>(EVENTS, sql, ...params);
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

function jobFilter({ status, name, created_before, limit }: JobQuery): {
  sql: string;
  params: (string | number)[];
} {
  const conditions: string[] = [];
  const params: (string | number)[] = [];
  if (status !== undefined) {
    conditions.push('status = ?');
    params.push(status);
  }
  if (name !== undefined && name !== '') {
    conditions.push('instr(name_folded, ?) > 0');
    params.push(name.toLowerCase());
  }
  if (created_before !== undefined) {
    conditions.push('created_at < ?');
    params.push(created_before);
  }
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')} ` : '';
  return { sql: `${where}ORDER BY created_at DESC LIMIT ?`, params: [...params, limit] };
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
async function lastHour(db: Connection, present: number): Promise<StatsMinute[]> {
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
