import { FOREVER } from '../../../machines/job/keep.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { ENDED_STATUSES, hasEnded } from '../../../machines/schema/statuses.ts';
import type { JobRow } from '../store/rows.ts';
import { differing, type Sql, sql } from '../store/sql.ts';
import {
  amongNumbers,
  amongTexts,
  each,
  GREATEST,
  JOIN,
  ownMember,
  sqlWords,
  typed,
  unindexed,
} from '../store/sql-words.ts';
import type { Store } from '../store/store.ts';
import type { Turn } from '../turn/turn.ts';

/** What has to be known of a job that is deleted. */
export type Deleted = Pick<JobRow, 'id' | 'seq' | 'name' | 'status' | 'num_tasks'>;

/** Why it is. */
export type Why = { principal: string } | { flag: '--keep-jobs' | '--max-disk-gb' | 'keep' };

/** SQL: whether a job `j` has ended. */
export const HAS_ENDED = `j.status IN (${sqlWords(ENDED_STATUSES)})`;

/**
 * SQL: the other jobs `o` that have results of a job. From each of them the index is searched for the next, so that its
 * tasks are not walked through; with the plus the index of an expression serves a column, too.
 */
export const usersOf = (id: string): Sql => {
  const first = sql`SELECT min(t.job_id) FROM tasks t
    WHERE t.reused_from IS NOT NULL AND ${ownMember('t.reused_from', 'job_id')} = ${unindexed(id)}`;
  return sql`WITH RECURSIVE users (id) AS (
    ${first} UNION ALL SELECT (${first} AND t.job_id > users.id) FROM users WHERE users.id IS NOT NULL
  ) SELECT o.id FROM users u ${JOIN} jobs o ON o.id = u.id WHERE o.id <> ${id}`;
};

/** @throws ClusterError where a job has to stay (docs/semantics.md#deletion) */
export async function assertDeletable(store: Store, { id, status, keep }: JobRow): Promise<void> {
  if (!hasEnded(status))
    throw new ClusterError('illegal_transition', `job ${id} is ${status}; cancel it before it is deleted`);
  if (keep === FOREVER) {
    const way = `take that back with: jqctl keep ${id} --default`;
    throw new ClusterError('job_kept', `job ${id} is kept for ever, and is not deleted; ${way}`);
  }
  const user = await store.reader.get<{ id: string }>(sql`${usersOf('?1')} LIMIT 1`, id);
  if (user)
    throw new ClusterError(
      'job_in_use',
      `job ${user.id} has results of job ${id}, which is deleted after it alone`,
    );
}

/**
 * Deletes jobs that have ended, in a turn to itself: from its commit on they are gone. Of their tasks, artifacts and
 * events what is left goes in slices; `deletions` says so until all has gone.
 */
export function deleteJobs(turn: Turn, jobs: readonly Deleted[], why: Why): void {
  const { directory, sequences } = turn.core;
  const by = 'principal' in why ? `by ${why.principal}` : `as ${why.flag} says`;
  for (const { id, name, status, num_tasks } of jobs) {
    const cell = directory.jobs.get(id);
    if (cell) directory.removeJob(cell);
    turn.counts.move('jobs', status, null);
    turn.event(
      { job_id: id },
      {
        level: 'info',
        type: 'job_deleted',
        message: `job ${name ? `${name} (${id})` : id} was deleted ${by}`,
        data: { ...why, status, num_tasks },
      },
    );
  }
  const seqs = JSON.stringify(jobs.map(({ seq }) => seq));
  const ids = JSON.stringify(jobs.map(({ id }) => id));
  turn.further.push(
    // The index of names has no texts of its own, so that it has to be told what it knows.
    {
      sql: differing(
        `INSERT INTO job_names (job_names, rowid, name_folded)
        SELECT 'delete', seq, name_folded FROM jobs WHERE seq IN (SELECT value FROM json_each(?)) AND name_folded IS NOT NULL`,
        '',
      ),
      params: [seqs],
    },
    {
      sql: sql`UPDATE artifacts SET orphaned_at = ? WHERE id IN
        (SELECT i.artifact_id FROM ${each('?', 'text', 'k')} ${JOIN} job_inputs i ON i.job_id = k.value)`,
      params: [turn.now, ids],
    },
    ...['job_inputs', 'job_requests', 'job_variants', 'choices', 'shed'].map((table) => ({
      sql: sql`DELETE FROM ${table} WHERE job_id ${amongTexts()}`,
      params: [ids],
    })),
    {
      sql: sql`DELETE FROM job_tags WHERE (tag, seq) IN
        (SELECT t.value, jobs.seq FROM jobs CROSS JOIN ${each('jobs.tags', 'text', 't')} WHERE jobs.seq ${amongNumbers()})`,
      params: [seqs],
    },
    ...[
      differing('', sql`DELETE FROM job_places WHERE seq ${amongNumbers()}`.postgresql),
      sql`DELETE FROM jobs WHERE seq ${amongNumbers()}`,
    ].map((text) => ({ sql: text, params: [seqs] })),
    {
      sql: sql`INSERT INTO deletions (job_id, at) SELECT value, ${typed('?', 'double precision')} FROM ${each('?', 'text')}`,
      params: [turn.now, ids],
    },
    // Numbers and times are not given again, also where the last of the rows that had them go.
    {
      sql: sql`INSERT INTO numbers (name, last) VALUES ('job', ?), ('task', ?), ('created', ?)
        ON CONFLICT (name) DO UPDATE SET last = ${GREATEST}(numbers.last, excluded.last)`,
      params: [sequences.job - 1, sequences.task - 1, sequences.lastCreatedAt],
    },
  );
}
