import type { JobRow } from '../store/rows.ts';
import { type Queries, type Sql, type SqlText, sql } from '../store/sql.ts';
import { LIMIT, OFFSET, ownMember, SUCCEEDED } from '../store/sql-words.ts';
import { double, integer, object, smallRows } from './json-text.ts';
import { bytesOf } from './long-values.ts';
import type { RowHead } from './pages.ts';

/** A succeeded task in the order of its job's ranking. */
export interface Ranked extends RowHead {
  seq: number;
  rank_value: number | null;
}

/** What stands in an entry beside the long columns, in bytes. Metrics are a part of the result. */
const BYTES = bytesOf(500, 'result', 'dataset_label', 'pipeline_label');
/** Of a job that selects, its variants; what refits one of them is known by the selection. */
const RANKS = sql`coalesce(${ownMember('payload', 'role')}, 'variant') = 'variant'`;
const OF_JOB = sql`FROM tasks WHERE job_id = ? AND ${SUCCEEDED}`;

/** What a task has of the metric that its job ranks by, as the indexes of rankings have it. */
export function rankValueOf({ rank_metric, standings }: JobRow): SqlText {
  const place = standings.findIndex(({ metric }) => metric === rank_metric);
  return place <= 0 ? 'rank_value' : ownMember('rank_others', place - 1, 'double precision');
}

/**
 * The succeeded tasks of a job, best first, those without the metric last (docs/semantics.md#ranking), along their
 * index: first those that have a value, then those that have none.
 */
export class RankingOrder {
  readonly #db: Queries;
  readonly #job: JobRow;
  readonly #value: SqlText;
  readonly #cells: Sql;
  readonly #from: SqlText;

  constructor(db: Queries, job: JobRow) {
    this.#db = db;
    this.#job = job;
    this.#value = rankValueOf(job);
    this.#cells = object([
      ['seq', integer('seq')],
      ['rank_value', double(this.#value)],
      ['bytes', sql`(${BYTES})`],
    ]);
    // The index is one of those that have it.
    const ofSeveral = this.#value === 'rank_value' ? '' : ' AND rank_others IS NOT NULL';
    this.#from = sql`${OF_JOB}${job.selection ? sql` AND ${RANKS}` : ''}${ofSeveral}`;
  }

  /** The next `rows` behind one; at the beginning, behind the first `offset`. */
  async after(last: Ranked | null, rows: number, offset: number): Promise<Ranked[]> {
    if (last?.rank_value === null) return this.#unranked(last.seq, rows, 0);
    const skip = last === null ? offset : 0;
    const ranked = await this.#ranked(last, rows, skip);
    if (ranked.length === rows) return ranked;
    const skipped = skip === 0 || ranked.length > 0 ? 0 : skip - (await this.#count());
    return [...ranked, ...(await this.#unranked(0, rows - ranked.length, skipped))];
  }

  #ranked(last: Ranked | null, rows: number, skip: number): Promise<Ranked[]> {
    const [worse, direction, best] =
      this.#job.rank_mode === 'min'
        ? ['>', 'ASC', Number.NEGATIVE_INFINITY]
        : ['<', 'DESC', Number.POSITIVE_INFINITY];
    const value = last?.rank_value ?? best;
    return this.#rows(
      sql`${this.#value} ${worse}= ? AND (${this.#value} ${worse} ? OR seq > ?)
        ORDER BY ${this.#value} ${direction}, seq ${LIMIT} ${OFFSET}`,
      [value, value, last?.seq ?? 0, rows, skip],
    );
  }

  #unranked(after: number, rows: number, skip: number): Promise<Ranked[]> {
    return this.#rows(sql`${this.#value} IS NULL AND seq > ? ORDER BY seq ${LIMIT} ${OFFSET}`, [
      ...[after, rows, skip],
    ]);
  }

  #rows(condition: Sql, params: unknown[]): Promise<Ranked[]> {
    return smallRows(this.#db, this.#cells, sql`${this.#from} AND ${condition}`, [this.#job.id, ...params]);
  }

  async #count(): Promise<number> {
    const row = await this.#db.get<{ n: number }>(
      sql`SELECT count(*) AS n ${this.#from} AND ${this.#value} IS NOT NULL`,
      this.#job.id,
    );
    return row?.n ?? 0;
  }
}
