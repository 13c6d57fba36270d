import type { Aggregate } from '../../machines/schema/views.ts';
import type { Prepared } from '../store/prepared.ts';
import type { JobRow } from '../store/rows.ts';
import { jobView, selectionsOf } from '../views.ts';
import { type Fillers, filled, markValue } from './holes.ts';
import { jobFillers } from './jobs.ts';
import { errorsOf, rankingFillers, rankingOf, rankWarnings } from './ranking.ts';

/** Entries of a ranking, and errors, that the view of a job shows (docs/protocol.md#views-of-jobs-and-tasks). */
const SHOWN = { ranking: 10_000, errors: 1000 };

/** A job as clients see it, as pieces of JSON: its row as it is now, then the best of its tasks, then the first errors. */
export async function* jobPieces(db: Prepared, row: JobRow): AsyncGenerator<string> {
  const { succeeded, failed } = row.counts;
  const ranking = succeeded > 0 ? markValue('ranking', row.seq) : [];
  const errors = failed > 0 ? markValue('errors', row.seq) : {};
  const view = jobView(row, ranking as Aggregate['ranking'], errors as Aggregate['errors']);
  if (row.selection) view.aggregate.selections = selectionsOf(row);
  // Nobody should have to wonder why the best of many is missing.
  view.warnings.push(...(await rankWarnings(db, row)));
  const entries = rankingFillers(db);
  const fillers: Fillers = {
    ...jobFillers(db),
    ranking: () => filled(rankingOf(db, row, { limit: SHOWN.ranking }), entries),
    errors: () => filled(errorsOf(db, row, SHOWN.errors), entries),
  };
  yield* filled(once(JSON.stringify(view)), fillers);
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}
