import type { Piece } from '../../../gateway/backend.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Aggregate } from '../../../machines/schema/views.ts';
import { type Queries, sql } from '../store/sql.ts';
import { JOBS } from '../store/tables.ts';
import { JOB_CELLS, jobValueReaders } from './jobs.ts';
import { placeholderValue, type ValueReaders, withLongValues } from './long-values.ts';
import { BEST_ENTRY, errorsOf, rankingOf, rankingValueReaders, rankWarnings } from './ranking.ts';
import { jobView, selectionsOf } from './views.ts';

/**
 * Entries of a ranking, and errors, that the view of a job shows (docs/protocol.md#views-of-jobs-and-tasks): no more
 * than its counts tell of, so that nobody looks whether there are others.
 */
const SHOWN = { ranking: 10_000, errors: 1000 };

/** Most jobs have one task: its entry comes with the row of its job, since to ask the store is what takes time here. */
const JOB_SQL = sql`SELECT ${JOB_CELLS} AS cells,
    CASE WHEN num_succeeded = 1 AND selection IS NULL THEN ${BEST_ENTRY} END AS ranked
  FROM jobs WHERE id = ?`;

/**
 * A job as clients see it, as pieces of JSON: its row as it is now, then the best of its tasks, then the first errors.
 * @throws ClusterError `unknown_id`
 */
export async function* jobPieces(db: Queries, id: string): AsyncGenerator<Piece> {
  const found = await db.get<{ cells: string; ranked: string | null }>(JOB_SQL, id);
  if (!found) throw ClusterError.unknown('job', id);
  const row = JOBS.decode(found.cells);
  const { succeeded, failed } = row.counts;
  const ranking = succeeded > 0 ? placeholderValue('ranking', row.seq) : [];
  const errors = failed > 0 ? placeholderValue('errors', row.seq) : {};
  const view = jobView(row, ranking as Aggregate['ranking'], errors as Aggregate['errors']);
  if (row.selection) view.aggregate.selections = selectionsOf(row);
  // Says why the best of many is missing.
  view.warnings.push(...(await rankWarnings(db, row)));
  const entries = rankingValueReaders(db);
  const fillers: ValueReaders = {
    ...jobValueReaders(db),
    ranking: () =>
      withLongValues(
        found.ranked === null
          ? rankingOf(db, row, { limit: Math.min(SHOWN.ranking, succeeded) })
          : once(`[${found.ranked}]`),
        { ...entries, best_metric: () => once(JSON.stringify(row.best_metric)) },
      ),
    errors: () => withLongValues(errorsOf(db, row, Math.min(SHOWN.errors, failed)), entries),
  };
  yield* withLongValues(once(JSON.stringify(view)), fillers);
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}
