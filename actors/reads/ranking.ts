import type { Prepared } from '../store/prepared.ts';
import type { JobRow } from '../store/rows.ts';
import { bytesOf, type Fillers, orMark, partsOf, quoted } from './holes.ts';
import { double, joined, object, PARAMETER, PICKED, text } from './json-text.ts';
import { inPages, type RowHead } from './pages.ts';
import { type Ranked, RankingOrder } from './ranked.ts';

/** A result that is nested deeper than SQLite reads still counts; it only shows no metrics. */
const METRICS = `coalesce(iif(json_valid(result), result -> 'metrics', NULL), '{}')`;

const long = (column: string, jsonText: string, what = column) => orMark(column, jsonText, what, 't.seq');

const ENTRY = object([
  ['task_id', text('id')],
  ['dataset', long('dataset_label', text('dataset_label'))],
  ['pipeline', long('pipeline_label', text('pipeline_label'))],
  // Under the name of the job's rank metric.
  [PARAMETER, double('rank_value')],
  ['metrics', long('result', METRICS, 'metrics')],
]);

const PAGE = `${PICKED} SELECT ${joined(ENTRY, 'picked.place')} AS text FROM picked CROSS JOIN tasks t ON t.seq = picked.seq`;

/** Which part of a ranking. */
export interface RankingPart {
  limit?: number | undefined;
  offset?: number | undefined;
}

/** The ranking of a job, as pieces of JSON in which marks may stand. */
export async function* rankingOf(db: Prepared, job: JobRow, part: RankingPart = {}): AsyncGenerator<string> {
  const order = new RankingOrder(db, job);
  const metric = JSON.stringify(job.rank_metric);
  yield '[';
  yield* inPages<Ranked>({
    plan: (last, rows) => order.after(last, rows, part.offset ?? 0),
    compose: async (heads) => {
      const seqs = JSON.stringify(heads.map(({ seq }) => seq));
      return (await db.get<{ text: string }>(PAGE, seqs, metric))?.text ?? '';
    },
    limit: part.limit,
  });
  yield ']';
}

const FAILURE = `${text('id')} || ':' || ${long('error', text("coalesce(error, 'failed')"))}`;
const FAILURES = `${PICKED} SELECT ${joined(FAILURE, 't.seq')} AS text FROM picked CROSS JOIN tasks t ON t.seq = picked.seq`;

/** The errors of a job's failed tasks by task id, as pieces of JSON in which marks may stand. */
export async function* errorsOf(db: Prepared, job: JobRow, limit: number): AsyncGenerator<string> {
  yield '{';
  yield* inPages<RowHead & { seq: number }>({
    plan: (last, rows) =>
      db.all(
        `SELECT seq, ${bytesOf(100, 'error')} AS bytes FROM tasks
         WHERE job_id = ? AND status = 'failed' AND seq > ? ORDER BY seq LIMIT ?`,
        ...[job.id, last?.seq ?? 0, rows],
      ),
    compose: async (heads) => {
      const seqs = JSON.stringify(heads.map(({ seq }) => seq));
      return (await db.get<{ text: string }>(FAILURES, seqs))?.text ?? '';
    },
    limit,
  });
  yield '}';
}

/** What the marks in rankings and errors stand for. */
export function rankingFillers(db: Prepared): Fillers {
  const parts = (value: string) => (seq: string) =>
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

/** What the tasks reported in the place of the metric that a job ranks by: a sentence for people. */
export async function missingMetric(db: Prepared, job: JobRow): Promise<string> {
  const found = await db.all<{ name: string }[]>(
    `WITH looked (result) AS MATERIALIZED
            (SELECT result FROM tasks WHERE job_id = ? AND status = 'succeeded' AND rank_value IS NULL
             AND octet_length(result) < ${READABLE} AND json_valid(result) LIMIT ${LOOKED_AT})
     SELECT DISTINCT substr(m.key, 1, 100) AS name FROM looked, json_each(looked.result, '$.metrics') m LIMIT ${NAMED + 1}`,
    job.id,
  );
  const names = found.slice(0, NAMED).map(({ name }) => `'${name}'`);
  const told = names.length === 0 ? 'none' : `${names.join(', ')}${found.length > NAMED ? ', …' : ''}`;
  return `no task reported a number for '${job.rank_metric}', by which the job ranks; metrics that were reported: ${told}`;
}
