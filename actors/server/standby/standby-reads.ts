import type { Piece, Reads, TaskQuery } from '../../../gateway/backend.ts';
import { LeaderOnly } from '../../../gateway/leadership.ts';
import { PACKAGE_VERSION } from '../../../gateway/version.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { hasEnded } from '../../../machines/schema/statuses.ts';
import type { JobStatus } from '../../../machines/schema/views.ts';
import type { Clock } from '../../shared/clock.ts';
import { type Live, statsOf } from '../reads/live-reads.ts';
import { createReads, type ReadStore } from '../reads/reads.ts';
import { TaskList } from '../reads/tasks.ts';
import type { Share } from '../scheduling/rounds.ts';
import { loadRows } from '../store/rows-by.ts';
import type { Queries } from '../store/sql.ts';
import { PAUSES, REQUIREMENTS, TALLY } from '../store/tables.ts';

/**
 * The reads of a server that stands by: whatever the store alone can tell, as it is committed by then. What the one that
 * leads has in memory alone throws `LeaderOnly`: when leases end as things stand, what a task waits for, when a worker was
 * last heard, what is wanted of workers.
 */
export function standbyReads(store: ReadStore, clock: Clock, share: Share): Reads {
  const db = store.queries;
  const onlyLeader = (): never => {
    throw new LeaderOnly();
  };
  const live: Live = {
    now: 0,
    version: PACKAGE_VERSION,
    leases: () => ({}),
    ...{ requirements: onlyLeader, lastSeenAt: onlyLeader, demand: onlyLeader, stats: onlyLeader },
    ...{ stateCounts: onlyLeader, missingPaths: onlyLeader, waitingFor: onlyLeader },
  };
  return {
    ...createReads(store, live, clock, onlyLeader),
    tasks: (query) => endedTasks(db, live, query),
    async stats() {
      const [tally] = await loadRows(db, TALLY, 'id = 1', []);
      if (tally === undefined) throw new LeaderOnly();
      return statsOf(tally, await loadRows(db, PAUSES, '1 = 1', []), share, PACKAGE_VERSION);
    },
    async demand() {
      throw new LeaderOnly();
    },
    async stateCounts() {
      throw new LeaderOnly();
    },
  };
}

/** The tasks of a job that has ended: of them memory knows nothing more. */
async function* endedTasks(db: Queries, live: Live, query: TaskQuery): AsyncGenerator<Piece> {
  const job = await db.get<{ status: string }>('SELECT status FROM jobs WHERE id = ?', query.job_id);
  if (job === undefined) throw ClusterError.unknown('job', query.job_id);
  if (!hasEnded(job.status as JobStatus)) throw new LeaderOnly();
  const asked = await loadRows(
    db,
    REQUIREMENTS,
    'id IN (SELECT DISTINCT requirement_id FROM tasks WHERE job_id = ?)',
    [query.job_id],
  );
  const documents = new Map(asked.map(({ id, document }) => [id, document]));
  yield* new TaskList(db, { ...live, requirements: (id) => documents.get(id) ?? '{}' }, query).pieces();
}
