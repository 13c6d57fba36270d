import type { Reads } from '../../../gateway/backend.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { ServerView } from '../../../machines/schema/servers.ts';
import type { BackupsView, StatsMinute } from '../../../machines/schema/views.ts';
import type { Clock } from '../../shared/clock.ts';
import type { JobRow, MinuteRow } from '../store/rows.ts';
import { type Queries, sql } from '../store/sql.ts';
import { jobsThatAre, OFFSET } from '../store/sql-words.ts';
import type { Store } from '../store/store.ts';
import { ARTIFACTS, JOBS } from '../store/tables.ts';
import { actorState } from './actors.ts';
import { artifactList, taskArtifacts } from './artifacts.ts';
import { eventList, eventPage } from './events.ts';
import { jobPieces } from './job.ts';
import { JOB_CELLS, jobList } from './jobs.ts';
import type { Live } from './live-reads.ts';
import { partsOf, withLongValues } from './long-values.ts';
import { rankingOf, rankingValueReaders } from './ranking.ts';
import { rankingCsv } from './ranking-csv.ts';
import { serversOn } from './servers.ts';
import { TaskList } from './tasks.ts';
import { oneWorker, workerList } from './workers.ts';

const JOB_SQL = sql`SELECT ${JOB_CELLS} AS cells FROM jobs WHERE id = ?`;
const ARTIFACT_SQL = sql`SELECT ${ARTIFACTS.rowSql()} AS cells FROM artifacts`;

/** What is read of a store for clients. */
export type ReadStore = Pick<Store, 'isShared' | 'queries' | 'pages'>;

/**
 * The queries behind the GETs: rows from the store, a page at a time, and from memory what is never stored at once.
 * @param self this server, where there is no other
 * @param backups how the schedule of backups goes, where there is one
 */
export function createReads(
  store: ReadStore,
  live: Live,
  clock: Clock,
  self: () => ServerView,
  backups?: (() => BackupsView) | undefined,
): Reads {
  const db = store.queries;

  async function jobRow(id: string): Promise<JobRow> {
    const row = await db.get<{ cells: string }>(JOB_SQL, id);
    if (!row) throw ClusterError.unknown('job', id);
    return JOBS.decode(row.cells);
  }

  async function assertExists(table: 'jobs' | 'tasks', what: string, id: string): Promise<void> {
    if (!(await db.get(`SELECT 1 FROM ${table} WHERE id = ?`, id))) throw ClusterError.unknown(what, id);
  }

  return {
    jobs: (query) => jobList(db, query),

    job: (id) => jobPieces(db, id),

    async *jobRequest(id) {
      const cell = { table: 'job_requests', value: 'request', key: 'job_id' };
      let found = false;
      for await (const part of partsOf(db, cell, id)) {
        found = true;
        yield part;
      }
      if (!found) throw ClusterError.unknown('job', id);
    },

    tasks: (query) => new TaskList(db, live, query).pieces(),

    async *ranking({ job_id, csv, ...part }) {
      const row = await jobRow(job_id);
      if (csv) yield* rankingCsv(db, row, part);
      else yield* withLongValues(rankingOf(db, row, part), rankingValueReaders(db));
    },

    async *eventList(query) {
      if (query.job_id !== undefined) await assertExists('jobs', 'job', query.job_id);
      yield* eventList(db, query);
    },

    async events(query) {
      const page = await eventPage(store.pages, query);
      if (page.events.length === 0 && query.job_id !== undefined)
        await assertExists('jobs', 'job', query.job_id);
      return page;
    },

    async eventIdBefore(count) {
      const row = await db.get<{ id: number }>(
        sql`SELECT id FROM events ORDER BY id DESC LIMIT 1 ${OFFSET}`,
        count,
      );
      return row?.id ?? 0;
    },

    async *jobArtifacts({ job_id, task_id }) {
      const row = await jobRow(job_id);
      yield* task_id === undefined ? artifactList(db, row) : taskArtifacts(db, row, task_id);
    },

    async artifact(id) {
      const row = await db.get<{ cells: string }>(sql`${ARTIFACT_SQL} WHERE id = ?`, id);
      if (!row) throw await whyNoArtifact(db, id);
      return ARTIFACTS.decode(row.cells);
    },

    async stats() {
      return backups === undefined ? live.stats() : { ...live.stats(), backups: backups() };
    },

    async statsHistory() {
      return lastHour(db, Math.floor(clock.now() / 60));
    },

    async servers() {
      if (store.isShared) return serversOn(db);
      const server = self();
      return { servers: [server], last_event_id: server.event_id };
    },

    demand: () => live.demand(),

    workers: (status) => workerList(db, live, status),

    worker: (id) => oneWorker(db, live, id),

    async stateCounts(machine) {
      const counts = live.stateCounts(machine);
      return machine === 'job' ? { ...counts, ...(await runningJobs(db)) } : counts;
    },

    actor: (machine, id) => actorState(db, machine, id),

    assertTask: (id) => assertExists('tasks', 'task', id),
  };
}

async function whyNoArtifact(db: Queries, id: string): Promise<ClusterError> {
  const gone = await db.get<{ expired_at: number }>(
    'SELECT expired_at FROM expired_artifacts WHERE id = ?',
    id,
  );
  if (!gone) return ClusterError.unknown('artifact', id);
  const when = new Date(gone.expired_at * 1000).toISOString();
  return new ClusterError('artifact_expired', `artifact '${id}' was deleted at ${when}: its time was over`);
}

/** The states below `running`: a job whose tasks all wait again is in no memory. */
async function runningJobs(db: Queries): Promise<Record<string, number>> {
  const rows = await db.all<{ state: string; n: number }[]>(
    sql`SELECT state, COUNT(*) AS n FROM jobs WHERE ${jobsThatAre(['running'])} AND state IS NOT NULL GROUP BY state`,
  );
  return Object.fromEntries(rows.map(({ state, n }) => [`job.running.${state}`, n]));
}

/** Sixty minutes up to the present one; a minute without a commit carries the queue length on. */
async function lastHour(db: Queries, present: number): Promise<StatsMinute[]> {
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
