import { type CsvCell, csvLine } from '../../../machines/results/csv.ts';
import type { JobRow } from '../store/rows.ts';
import { differing, type Queries, sql } from '../store/sql.ts';
import { JOIN, ownMember } from '../store/sql-words.ts';
import { PICKED } from './json-text.ts';
import { fitting, type Plan } from './pages.ts';
import { type Ranked, RankingOrder, rankValueOf } from './ranked.ts';
import type { RankingPart } from './ranking.ts';

/** Metrics that get a column of their own: those of the best entries, up to so many. */
const MOST_COLUMNS = 200;
/** Entries that are looked at together. */
const ROWS = 500;
/**
 * Bytes of a result, and of a label, beyond which a table has no room for it; stores of earlier versions may have such.
 */
const READABLE = 4 * 1024 * 1024;

/** Of a result that the store reads. */
const METRICS = differing(
  `CASE WHEN octet_length(result) <= ${READABLE} AND json_valid(result) THEN result -> 'metrics' END`,
  `CASE WHEN octet_length(result) <= ${READABLE} THEN jq_row(json_compact(jq_json(result) -> 'metrics')) END`,
);

const pageOf = (job: JobRow) => sql`${PICKED}
  SELECT picked.place, t.id AS task_id, substr(dataset_label, 1, 4096) AS dataset, coalesce(pipeline_steps, substr(pipeline_label, 1, 4096)) AS pipeline,
         ${rankValueOf(job)} AS rank_value, ${ownMember('reused_from', 'task_id')} AS reused_from, ${METRICS} AS metrics
  FROM picked ${JOIN} tasks t ON t.seq = picked.seq`;

interface Entry {
  place: number;
  task_id: string;
  dataset: string;
  pipeline: string;
  rank_value: number | null;
  reused_from: string | null;
  metrics: string | null;
}

/**
 * The ranking of a job as a table (RFC 4180), in pieces: a column for each metric of the best entries, and a last one
 * with whatever others an entry has, as JSON.
 */
export async function* rankingCsv(db: Queries, job: JobRow, part: RankingPart): AsyncGenerator<string> {
  const order = new RankingOrder(db, job);
  const select = pageOf(job);
  let columns: string[] | null = null;
  let rank = (part.offset ?? 0) + 1;
  let left = part.limit ?? Number.POSITIVE_INFINITY;
  for (let behind: Ranked | null = null; left > 0; ) {
    const asked = Math.min(ROWS, left);
    const { heads, last }: Plan<Ranked> = await order.after(behind, asked, part.offset ?? 0);
    for (let from = 0; from < heads.length; ) {
      const page = fitting(heads, from);
      const seqs = JSON.stringify(page.map(({ seq }) => seq));
      const rows = (await db.all<Entry[]>(select, seqs)).sort((a, b) => a.place - b.place);
      const entries = rows.map((row) => ({ row, metrics: metricsOf(row) }));
      if (columns === null) {
        columns = columnsOf(
          entries.map(({ metrics }) => metrics),
          job.rank_metric,
        );
        yield csvLine([...headOf(job), ...columns, 'other_metrics']);
      }
      const named = columns;
      yield entries.map(({ row, metrics }) => csvLine(cellsOf(row, rank++, metrics, named, job))).join('');
      from += page.length;
    }
    if (heads.length < asked) break;
    left -= heads.length;
    behind = last as Ranked;
  }
  if (columns === null) yield csvLine([...headOf(job), 'other_metrics']);
}

/** The columns before those of metrics; whose result it is only where some are those of others. */
const headOf = ({ rank_metric, num_reused }: JobRow): string[] => [
  ...['rank', 'task_id', 'dataset', 'pipeline'],
  ...(num_reused > 0 ? ['reused_from'] : []),
  rank_metric,
];

const metricsOf = ({ metrics }: Entry): Map<string, unknown> =>
  new Map(Object.entries((JSON.parse(metrics ?? 'null') as Record<string, unknown> | null) ?? {}));

function columnsOf(metrics: readonly Map<string, unknown>[], rankMetric: string): string[] {
  const names = new Set(metrics.flatMap((map) => [...map.keys()]));
  names.delete(rankMetric);
  return [...names].slice(0, MOST_COLUMNS);
}

function cellsOf(
  { task_id, dataset, pipeline, reused_from, rank_value }: Entry,
  rank: number,
  metrics: Map<string, unknown>,
  columns: readonly string[],
  { rank_metric, num_reused }: JobRow,
): CsvCell[] {
  const take = (name: string): CsvCell => {
    const value = metrics.get(name);
    metrics.delete(name);
    return typeof value === 'number' || typeof value === 'string' ? value : null;
  };
  // Under its own name it stands already, where it is a number.
  if (rank_value !== null) metrics.delete(rank_metric);
  const own = columns.map(take);
  const others = metrics.size === 0 ? null : JSON.stringify(Object.fromEntries(metrics));
  const from = num_reused > 0 ? [reused_from] : [];
  return [rank_value === null ? null : rank, task_id, dataset, pipeline, ...from, rank_value, ...own, others];
}
