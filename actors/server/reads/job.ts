import type { Aggregate } from '../../../machines/schema/views.ts';
import type { JobRow } from '../store/rows.ts';
import type { Queries } from '../store/sql.ts';
import { jobValueReaders } from './jobs.ts';
import { placeholderValue, type ValueReaders, withLongValues } from './long-values.ts';
import { errorsOf, rankingOf, rankingValueReaders, rankWarnings } from './ranking.ts';
import { jobView, selectionsOf } from './views.ts';

/**
 * Entries of a ranking, and errors, that the view of a job shows (docs/protocol.md#views-of-jobs-and-tasks): no more
 * than its counts tell of, so that nobody looks whether there are others.
 */
const SHOWN = { ranking: 10_000, errors: 1000 };

/**
 * A job as clients see it, as pieces of JSON: its row as it is now, then the best of its tasks, then the first errors.
 */
export async function* jobPieces(db: Queries, row: JobRow): AsyncGenerator<string> {
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
    ranking: () => withLongValues(rankingOf(db, row, { limit: Math.min(SHOWN.ranking, succeeded) }), entries),
    errors: () => withLongValues(errorsOf(db, row, Math.min(SHOWN.errors, failed)), entries),
  };
  yield* withLongValues(once(JSON.stringify(view)), fillers);
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}
