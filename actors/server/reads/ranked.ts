import type { Piece } from '../../../gateway/backend.ts';
import type { JobRow } from '../store/rows.ts';
import { type Queries, type Sql, type SqlText, sql } from '../store/sql.ts';
import { LIMIT, OFFSET, ownMember, SUCCEEDED } from '../store/sql-words.ts';
import { compose, type LargeRow, look, type Members } from './looks.ts';
import type { Plan } from './pages.ts';

/** A succeeded task in the order of its job's ranking. */
export interface Ranked extends LargeRow {
  /** Told of the last one, behind which the next ones are asked for. */
  rank_value: number | null;
}

/** Metrics are a part of the result. */
const LONG = ['result', 'dataset_label', 'pipeline_label'];
/** Of a job that selects, its variants; what refits one of them is known by the selection. */
const RANKS = sql`coalesce(${ownMember('payload', 'role')}, 'variant') = 'variant'`;
const OF_JOB = sql`WHERE job_id = ? AND ${SUCCEEDED}`;

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
  readonly #members: Members;
  readonly #where: SqlText;

  /** @param entry what is said of a task; where it is left out, it is only found */
  constructor(db: Queries, job: JobRow, entry: Pick<Members, 'member' | 'params'> = {}) {
    this.#db = db;
    this.#job = job;
    this.#value = rankValueOf(job);
    const order = { value: this.#value, last: job.rank_mode === 'min' ? ('max' as const) : ('min' as const) };
    this.#members = { table: 'tasks t', seq: 't.seq', ...entry, long: LONG, order };
    // The index is one of those that have it.
    const ofSeveral = this.#value === 'rank_value' ? '' : ' AND rank_others IS NOT NULL';
    this.#where = sql`${OF_JOB}${job.selection ? sql` AND ${RANKS}` : ''}${ofSeveral}`;
  }

  /** The next `rows` behind one; at the beginning, behind the first `offset`. */
  async after(last: Ranked | null, rows: number, offset: number): Promise<Plan<Ranked>> {
    if (last?.rank_value === null) return this.#unranked(last.seq, rows, 0);
    const skip = last === null ? offset : 0;
    const ranked = await this.#ranked(last, rows, skip);
    const { count } = ranked;
    if (count === rows) return ranked;
    const skipped = skip === 0 || count > 0 ? 0 : skip - (await this.#count());
    const unranked = await this.#unranked(0, rows - count, skipped);
    if (count === 0 || unranked.count === 0) return count === 0 ? unranked : ranked;
    return {
      count: count + unranked.count,
      last: unranked.last,
      text: `${ranked.text},${unranked.text}`,
      heads: [...ranked.heads, ...unranked.heads],
    };
  }

  #ranked(last: Ranked | null, rows: number, skip: number) {
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

  #unranked(after: number, rows: number, skip: number) {
    return this.#rows(sql`${this.#value} IS NULL AND seq > ? ORDER BY seq ${LIMIT} ${OFFSET}`, [
      ...[after, rows, skip],
    ]);
  }

  async #rows(condition: Sql, params: unknown[]): Promise<Plan<Ranked>> {
    const rest = sql`${this.#where} AND ${condition}`;
    const { text, seqs, last, large } = await look(this.#db, this.#members, rest, this.#job.id, ...params);
    const seq = seqs.at(-1);
    return {
      count: seqs.length,
      last: seq === undefined ? undefined : { seq, rank_value: last, bytes: 0 },
      text,
      heads: large.map((row) => ({ ...row, rank_value: null })),
    };
  }

  /** The texts of some, as they are by now. */
  compose(heads: readonly Ranked[]): Promise<Piece> {
    return compose(this.#db, this.#members, heads);
  }

  async #count(): Promise<number> {
    const row = await this.#db.get<{ n: number }>(
      sql`SELECT count(*) AS n FROM tasks ${this.#where} AND ${this.#value} IS NOT NULL`,
      this.#job.id,
    );
    return row?.n ?? 0;
  }
}
