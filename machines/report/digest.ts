import { LIMITS } from '../protocol/limits.ts';
import {
  type FailReport,
  type Level,
  PREEMPTED,
  type ReportedEvent,
  type TaskReport,
  type TaskResult,
} from '../schema/report.ts';
import { boundedEvent, boundedFailure, boundedResult } from './limits.ts';
import { type FoundVariants, readVariants } from './variants.ts';

/*
 * What the queue needs of the reports of workers: cut to their limits, and what nobody looks into as JSON text. It is
 * quick to copy from one process to another, however large the reports are.
 */

export interface EventDigest {
  level: Level;
  type: string;
  message: string;
  /** A JSON object, as text. */
  data: string;
}

export function digestEvent(event: ReportedEvent): EventDigest {
  const { level = 'info', type = 'log', message = '', progress, data } = boundedEvent(event);
  return {
    level,
    type,
    message,
    data: JSON.stringify(progress === undefined ? (data ?? {}) : { ...data, progress }),
  };
}

type Numbers = Record<string, number | null>;

export interface ResultDigest {
  /** The result without its metrics and artifacts: a JSON object, as text. */
  text: string;
  /** Undefined where it names none. */
  artifacts: Record<string, string | null> | undefined;
  pipeline_fingerprint: string | null;
  metrics: Numbers | undefined;
  /** Numbers that are too many for `metrics`: their names, each behind a line feed, and their values. */
  spare: { names: string; values: Float64Array };
  /** What the library found in the pipeline, or why that cannot be taken; null where nothing is listed. */
  variants: FoundVariants | string | null;
  /** A sentence for each thing that was moved or left out. */
  notes: string[];
}

const BEHIND = '\n';

export function digestResult({ variants, ...reported }: TaskResult): ResultDigest {
  const spare = spareNumbers(reported.metrics ?? {});
  // Places are kept for the metrics that the job may rank by, which may be among those that are too many.
  const most = spare.values.length > 0 ? LIMITS.numbers - LIMITS.rankMetrics : LIMITS.numbers;
  const { result, notes } = boundedResult(reported, most);
  // Who reported it is for the server to say.
  const { metrics, artifacts, provenance: _, ...others } = result as TaskResult & { provenance?: unknown };
  return {
    text: JSON.stringify(others),
    artifacts,
    pipeline_fingerprint: reported.pipeline_fingerprint ?? null,
    metrics: metrics as Numbers | undefined,
    spare,
    variants: variants === undefined ? null : readVariants(variants),
    notes,
  };
}

const NO_SPARE: ResultDigest['spare'] = { names: '', values: new Float64Array() };

function spareNumbers(metrics: Record<string, unknown>): ResultDigest['spare'] {
  if (Object.keys(metrics).length <= LIMITS.numbers) return NO_SPARE;
  const names: string[] = [];
  const values: number[] = [];
  for (const [name, value] of Object.entries(metrics)) {
    if (typeof value !== 'number' || name.length > LIMITS.key || name.includes(BEHIND)) continue;
    names.push(name);
    values.push(value);
  }
  const fit = values.length <= LIMITS.numbers;
  return fit
    ? NO_SPARE
    : { names: `${BEHIND}${names.join(BEHIND)}${BEHIND}`, values: new Float64Array(values) };
}

/** The metrics of a result, those that its job may rank by among them where they were reported at all. */
export function metricsWith(
  { metrics, spare }: ResultDigest,
  rankMetrics: readonly string[],
): Numbers | undefined {
  if (metrics === undefined || spare.names === '') return metrics;
  const missing = rankMetrics.filter((name) => !Object.hasOwn(metrics, name));
  const found = missing.flatMap((name) => {
    const at = spare.names.indexOf(`${BEHIND}${name}${BEHIND}`);
    if (at < 0) return [];
    return [[name, spare.values[spare.names.slice(0, at).split(BEHIND).length - 1] as number] as const];
  });
  return { ...metrics, ...Object.fromEntries(found) };
}

/** One report among many. */
export type ReportDigest =
  | Extract<TaskReport, { type: 'start' }>
  | (Omit<Extract<TaskReport, { type: 'events' }>, 'events'> & { events: EventDigest[] })
  | (Omit<Extract<TaskReport, { type: 'complete' }>, 'result'> & { result: ResultDigest })
  | Extract<TaskReport, { type: 'fail' }>;

export function digestReport(report: TaskReport): ReportDigest {
  const { task_id, worker_id, attempt } = report;
  const about = { task_id, ...(attempt === undefined ? {} : { attempt }) };
  switch (report.type) {
    case 'start':
      return { type: 'start', ...about, worker_id: report.worker_id };
    case 'events': {
      const by = worker_id === undefined ? {} : { worker_id };
      return { type: 'events', ...about, ...by, events: report.events.map(digestEvent) };
    }
    case 'complete':
      return { ...ending(report), type: 'complete', result: digestResult(report.result) };
    case 'fail':
      return { ...ending(report), type: 'fail', failure: digestFailure(report.failure) };
  }
}

/** Who reports the end of an attempt, and the files that come with it. */
function ending({ task_id, worker_id, attempt, files }: Extract<TaskReport, { type: 'complete' | 'fail' }>) {
  return {
    task_id,
    worker_id,
    ...(attempt === undefined ? {} : { attempt }),
    ...(files === undefined ? {} : { files }),
  };
}

/** Without the members that nobody here knows. */
export function digestFailure(failure: FailReport): FailReport {
  const { error, traceback, retriable, fault, missing_path, reason } = boundedFailure(failure);
  return {
    error,
    ...(traceback === undefined ? {} : { traceback }),
    ...(retriable === undefined ? {} : { retriable }),
    ...(fault === undefined ? {} : { fault }),
    ...(missing_path === undefined ? {} : { missing_path }),
    ...(reason === PREEMPTED ? { reason } : {}),
  };
}
