import type { Piece } from '../../../gateway/backend.ts';
import { isPrediction } from '../../../machines/schema/job-types.ts';
import type { JobRow } from '../store/rows.ts';
import { differing, type Queries, type Sql, type SqlText, sql } from '../store/sql.ts';
import { inOrder, LIMIT, ownMember, SUCCEEDED, typed } from '../store/sql-words.ts';
import { always, json, object, ownWord, shortest, text } from './json-text.ts';
import { partsOf, placeholder, quoted, type ValueReaders } from './long-values.ts';
import {
  compose,
  filled,
  type LargeRow,
  type LongInMember,
  look,
  type Members,
  orMark,
  planOf,
} from './looks.ts';
import { inPages } from './pages.ts';
import { type Ranked, RankingOrder, rankValueOf } from './ranked.ts';

/** A result that is nested deeper than the store reads still counts; it only shows no metrics. */
const METRICS = differing(
  `coalesce(CASE WHEN json_valid(result) THEN result -> 'metrics' END, '{}')`,
  `coalesce(jq_row(json_compact(jq_json(result) -> 'metrics')), '{}')`,
);

/** @param metric by which the job ranks @param value its text */
const entryOf = (metric: Sql, value: Parameters<typeof object>[0][number][1]) => (long: LongInMember) =>
  object([
    ['task_id', ownWord('id')],
    ['dataset', long('dataset_label', text('dataset_label'))],
    ['pipeline', long('pipeline_label', text('pipeline_label'))],
    ['pipeline_steps', text('pipeline_steps')],
    ['reused_from', json('reused_from')],
    [metric, value],
    ['metrics', long('result', METRICS, 'metrics')],
  ]);
/** Of the best task of a job, a mark in the place of its value. */
const best = entryOf(text('jobs.rank_metric'), always(placeholder('best_metric', 'job')));
export const BEST_ENTRY = sql`(SELECT ${best(orMark('t.seq'))}
  FROM tasks t WHERE t.id = jobs.best_task_id)`;

/** Which part of a ranking. */
export interface RankingPart {
  limit?: number | undefined;
  offset?: number | undefined;
}

/** The ranking of a job, as pieces of JSON in which marks may stand. */
export async function* rankingOf(db: Queries, job: JobRow, part: RankingPart = {}): AsyncGenerator<Piece> {
  const member = entryOf(typed('?', 'text'), shortest(rankValueOf(job)));
  const order = new RankingOrder(db, job, { member, params: [JSON.stringify(job.rank_metric)] });
  yield '[';
  yield* inPages<Ranked>({
    plan: (last, rows) => order.after(last, rows, part.offset ?? 0),
    fill: async (text) => filled(text, Number),
    compose: async (heads) => filled(await order.compose(heads), Number),
    limit: part.limit,
  });
  yield ']';
}

const failure = (long: LongInMember) =>
  sql`concat('"', id, '":', ${long('error', text("coalesce(error, 'failed')"))})`;
const FAILED: Members = {
  ...{ table: 'tasks t', seq: 't.seq', member: failure, long: ['error'] },
};

/** The errors of a job's failed tasks by task id, as pieces of JSON in which marks may stand. */
export async function* errorsOf(db: Queries, job: JobRow, limit: number): AsyncGenerator<Piece> {
  yield '{';
  yield* inPages<LargeRow>({
    plan: async (last, rows) => {
      const order = sql`WHERE job_id = ? AND status = 'failed' AND seq > ? ORDER BY seq ${LIMIT}`;
      return planOf(await look(db, FAILED, order, job.id, last?.seq ?? 0, rows));
    },
    compose: (heads) => compose(db, FAILED, heads),
    limit,
  });
  yield '}';
}

/** What the marks in rankings and errors stand for. */
export function rankingValueReaders(db: Queries): ValueReaders {
  const parts = (value: SqlText) => (seq: string) =>
    partsOf(db, { table: 'tasks', value, key: 'seq' }, Number(seq));
  const inQuotes = (value: string) => (seq: string) => quoted(parts(value)(seq));
  return {
    metrics: parts(METRICS),
    error: inQuotes('error'),
    dataset_label: inQuotes('dataset_label'),
    pipeline_label: inQuotes('pipeline_label'),
  };
}

/** Succeeded tasks that are looked at, bytes of their results, and metrics that are named. */
const LOOKED_AT = 100;
const READABLE = 4 * 1024 * 1024;
const NAMED = 10;

/**
 * Why the ranking of a job says less than one expects, as sentences for people: it has no best task because none
 * reported what it ranks by, or some tasks are left out of it.
 */
export async function rankWarnings(db: Queries, job: JobRow): Promise<string[]> {
  // Predicted without reference values, nothing is measured.
  if (isPrediction(job.type)) return [];
  const succeeded = job.selection
    ? job.selection.datasets.reduce((sum, of) => sum + of.succeeded, 0)
    : job.counts.succeeded;
  const used = job.standings.find(({ metric }) => metric === job.rank_metric);
  const reported = job.best_task_id === null ? 0 : (used?.reported ?? succeeded);
  if (succeeded === 0 || reported >= succeeded) return [];
  if (reported === 0) return [await missingMetric(db, job)];
  const unranked = succeeded - reported;
  const others = job.standings.length > 1 ? ', and none of the other metrics was reported by more' : '';
  return [
    `${unranked} of ${succeeded} succeeded tasks reported no number for '${job.rank_metric}', by which the job ranks, and ${unranked === 1 ? 'is' : 'are'} unranked${others}`,
  ];
}

const VALID = differing('AND json_valid(result)', '');
/** The names of the metrics that are numbers, each once, in the order in which they stand. */
const NUMBERS = differing(
  `SELECT DISTINCT substr(m.key, 1, 100) AS name FROM looked, json_each(looked.result, '$.metrics') m
     WHERE m.type IN ('integer', 'real')`,
  `SELECT substr(m.key, 1, 100) AS name FROM looked
       CROSS JOIN jq_members(looked.result, 'metrics') m
     WHERE m.kind = 'number'
     GROUP BY name ORDER BY min(ARRAY[looked.seq, m.place])`,
);

/** What the tasks reported in the place of what their job ranks by. */
async function missingMetric(db: Queries, job: JobRow): Promise<string> {
  const found = await db.all<{ name: string }[]>(
    sql`WITH looked (seq, result) AS MATERIALIZED
            (SELECT seq, result FROM tasks WHERE job_id = ? AND ${SUCCEEDED} AND rank_value IS NULL
             AND coalesce(${ownMember('payload', 'role')}, 'variant') = 'variant'
             AND octet_length(result) < ${READABLE} ${VALID}${inOrder('seq')} LIMIT ${LOOKED_AT})
     ${NUMBERS} LIMIT ${NAMED + 1}`,
    job.id,
  );
  const names = found.slice(0, NAMED).map(({ name }) => `'${name}'`);
  const told = names.length === 0 ? 'none' : `${names.join(', ')}${found.length > NAMED ? ', …' : ''}`;
  const wanted = job.standings.map(({ metric }) => `'${metric}'`).join(' or ');
  return `no task reported a number for ${wanted}, by which the job ranks; metrics that were reported: ${told}`;
}
