import { RawJson } from '../../machines/json/raw.ts';
import type { Prepared } from '../store/prepared.ts';
import type { JobRow } from '../store/rows.ts';
import { double, joined, object, PARAMETER, text } from './json-text.ts';

/** A result that is nested deeper than SQLite reads still counts; it only shows no metrics. */
const METRICS = `coalesce(iif(json_valid(result), result -> 'metrics', NULL), '{}')`;

const ENTRY = object([
  ['task_id', text('id')],
  ['dataset', text('dataset_label')],
  ['pipeline', text('pipeline_label')],
  // Under the name of the job's rank metric.
  [PARAMETER, double('rank_value')],
  ['metrics', METRICS],
]);

const FAILURE = `${text('id')} || ':' || ${text("coalesce(error, 'failed')")}`;

/** The succeeded tasks of a job, best first, those without the metric last (contract, "Jobs"), as JSON. */
export async function rankingOf(db: Prepared, job: JobRow): Promise<RawJson> {
  const order = `rank_value IS NULL, rank_value ${job.rank_mode === 'min' ? 'ASC' : 'DESC'}, seq`;
  const row = await db.get<{ text: string }>(
    `SELECT ${joined(ENTRY, order)} AS text FROM tasks WHERE job_id = ? AND status = 'succeeded'`,
    JSON.stringify(job.rank_metric),
    job.id,
  );
  return new RawJson(`[${row?.text ?? ''}]`);
}

/** The errors of a job's failed tasks by task id, as JSON. */
export async function errorsOf(db: Prepared, job: JobRow): Promise<RawJson> {
  const row = await db.get<{ text: string }>(
    `SELECT ${joined(FAILURE, 'seq')} AS text FROM tasks WHERE job_id = ? AND status = 'failed'`,
    job.id,
  );
  return new RawJson(`{${row?.text ?? ''}}`);
}
