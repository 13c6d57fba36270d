import { basename, extname } from 'node:path/posix';
import { type RankMetric, rankModeOf } from '../ranking/standing.ts';
import { describePipelines } from '../ranking/steps.ts';
import {
  DATASET_LABEL,
  type DatasetRef,
  DEFAULT_MAX_ATTEMPTS,
  defaultRankMetrics,
  type JobSpec,
  type ModelRef,
  type PipelineRef,
  type Requirements,
} from '../schema/job.ts';
import { DEFAULT_TYPE, isPrediction, libraryOf, PREDICT_LABEL } from '../schema/job-types.ts';
import { SELECT_METRICS } from '../schema/select-limits.ts';
import { datasetsOf, pipelinesOf } from './submission.ts';

/**
 * The tasks of a job, of which there may be very many: one for each pipeline on each dataset
 * (docs/semantics.md#resources). Lists of texts and numbers, so that it is quick to copy.
 */
export interface TaskMatrix {
  /** Labels. */
  pipelines: string[];
  datasets: string[];
  /** By pipeline: what tells it apart where its label does not. */
  steps: (string | null)[];
  /** The distinct requirements of its tasks. */
  requirements: Requirements[];
  /** By pipeline: 1 where it runs code of the submitter, else 0. */
  code: number[];
  /** By dataset: which of the requirements its tasks have, without and with code of the submitter. */
  needs: [plain: number[], withCode: number[]];
}

/** A task before it has an id: which pipeline on which dataset, and which requirements of its matrix it has. */
export interface TaskPlan {
  pipeline: number;
  dataset: number;
  pipeline_label: string;
  pipeline_steps: string | null;
  dataset_label: string;
  requirement: number;
}

export function matrixOf(spec: JobSpec): TaskMatrix {
  if (spec.model) return predictionsOf(spec, spec.model);
  const pipelines = pipelinesOf(spec);
  const datasets = datasetsOf(spec);
  const code = pipelines.map(({ kind }) => (kind === 'python_entrypoint' ? 1 : 0));
  const requirements = new DistinctRequirements(spec);
  return {
    pipelines: pipelines.map(pipelineLabel),
    datasets: datasets.map(datasetLabel),
    steps: describePipelines(pipelines),
    requirements: requirements.distinct,
    code,
    needs: [
      code.includes(0) ? datasets.map((dataset) => requirements.number(dataset, false)) : [],
      code.includes(1) ? datasets.map((dataset) => requirements.number(dataset, true)) : [],
    ],
  };
}

/**
 * The tasks of a job that predicts: its model, in the place of a pipeline, on each dataset. Whether the model counts as
 * code of the submitter is known where it is known who made it.
 */
function predictionsOf(spec: JobSpec, model: ModelRef): TaskMatrix {
  const datasets = datasetsOf(spec);
  const requirements = new DistinctRequirements(spec);
  const needs = (withCode: boolean) => datasets.map((dataset) => requirements.number(dataset, withCode));
  return {
    pipelines: [modelLabel(model)],
    datasets: datasets.map(datasetLabel),
    steps: [null],
    code: [0],
    needs: [needs(false), needs(true)],
    requirements: requirements.distinct,
  };
}

/** What tasks on datasets require, each distinct requirement once. */
class DistinctRequirements {
  readonly distinct: Requirements[] = [];
  readonly #spec: JobSpec;
  readonly #numbers = new Map<string, number>();

  constructor(spec: JobSpec) {
    this.#spec = spec;
  }

  /** @param withCode whether the pipeline runs code of the submitter */
  number(dataset: DatasetRef, withCode: boolean): number {
    const key = `${withCode} ${dataset.kind} ${dataset.kind === 'worker_local' ? (dataset.name ?? '') : ''}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.distinct.push(requirementsFor(this.#spec, dataset, withCode)) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}

export const numTasks = ({ pipelines, datasets }: TaskMatrix): number => pipelines.length * datasets.length;

/** One of the tasks, by its place: pipeline by pipeline, datasets in their order. */
export function planAt(matrix: TaskMatrix, place: number): TaskPlan {
  const { pipelines, datasets, steps, code, needs } = matrix;
  const dataset = place % datasets.length;
  const pipeline = (place - dataset) / datasets.length;
  return {
    pipeline,
    dataset,
    pipeline_label: pipelines[pipeline] as string,
    pipeline_steps: steps[pipeline] ?? null,
    dataset_label: datasets[dataset] as string,
    requirement: needs[code[pipeline] === 1 ? 1 : 0][dataset] as number,
  };
}

/**
 * What the job asks, the analysis library, for a named local dataset the label that declares it, and what not
 * every worker was started for: code of the submitter, datasets of a catalog.
 */
function requirementsFor(spec: JobSpec, dataset: DatasetRef, withCode: boolean): Requirements {
  const asked = spec.requirements ?? {};
  const type = spec.type ?? DEFAULT_TYPE;
  const library = libraryOf(type);
  const packages = asked.packages ?? {};
  const labels = { ...asked.labels };
  if (dataset.kind === 'worker_local' && dataset.name !== undefined)
    labels[`${DATASET_LABEL}${dataset.name}`] = 'true';
  // Who only knows `<lib>.run` would run it.
  if (isPrediction(type)) labels[`${PREDICT_LABEL}${library}`] = 'true';
  const requirements: Requirements = {
    packages: Object.hasOwn(packages, library) ? packages : { ...packages, [library]: '' },
  };
  if (Object.keys(labels).length > 0) requirements.labels = labels;
  const isCatalog = dataset.kind === 'catalog';
  if (withCode || isCatalog || Object.keys(asked.capabilities ?? {}).length > 0) {
    requirements.capabilities = {
      ...asked.capabilities,
      ...(withCode && { python_entrypoint: true }),
      ...(isCatalog && { catalog: true }),
    };
  }
  if (asked.min_memory_gb !== undefined) requirements.min_memory_gb = asked.min_memory_gb;
  if (asked.min_gpu_count !== undefined) requirements.min_gpu_count = asked.min_gpu_count;
  return requirements;
}

/** docs/protocol.md#datasets: `name`, else path, else id. */
function datasetLabel(dataset: DatasetRef): string {
  // Members that a kind does not have may still be there, as anything.
  switch (dataset.kind) {
    case 'catalog':
      return dataset.catalog_id;
    case 'artifact':
      return dataset.name || dataset.artifact_id;
    default:
      return dataset.name || dataset.path || dataset.kind;
  }
}

/** Its own `name`, else whose best it is, else its id. */
const modelLabel = (model: ModelRef): string =>
  model.name || (model.kind === 'best_model' ? `best of ${model.job_id}` : model.artifact_id);

/** Its own `name`, else the path's stem, else the entrypoint, else the kind (docs/protocol.md#pipelines). */
function pipelineLabel(pipeline: PipelineRef): string {
  if (pipeline.name) return pipeline.name;
  if (pipeline.kind === 'path') {
    const name = basename(pipeline.path.replaceAll('\\', '/'));
    return name.slice(0, name.length - extname(name).length) || pipeline.path;
  }
  return pipeline.kind === 'python_entrypoint' ? pipeline.entrypoint : pipeline.kind;
}

export interface JobSettings {
  priority: number;
  max_attempts: number;
  /** Seconds before a failed task is tried again. */
  backoff_seconds: number;
  /** By the first of them that all succeeded tasks report. A job that selects does so by them. */
  rank_metrics: RankMetric[];
  /** Of a job that selects the best of its pipelines; `expands`: of those that its one pipeline holds. */
  selects: { refit: boolean; expands: boolean } | null;
  /** Seconds per attempt; null: no limit. */
  timeout_seconds: number | null;
  outputs: { export_best_model: boolean; keep_task_workspace: boolean };
}

/** The members of a specification that have defaults, with them. */
export function settingsOf(spec: JobSpec): JobSettings {
  return {
    priority: spec.priority ?? 0,
    max_attempts: spec.retry?.max_attempts ?? DEFAULT_MAX_ATTEMPTS,
    backoff_seconds: spec.retry?.backoff_seconds ?? 0,
    rank_metrics: rankMetricsOf(spec),
    selects: selectsOf(spec),
    timeout_seconds: spec.timeout_seconds ?? null,
    outputs: outputsOf(spec.outputs),
  };
}

export function outputsOf(
  outputs?: { [Name in keyof JobSettings['outputs']]?: boolean | undefined },
): JobSettings['outputs'] {
  return {
    export_best_model: outputs?.export_best_model ?? true,
    keep_task_workspace: outputs?.keep_task_workspace ?? false,
  };
}

const selectsOf = ({ select, decompose }: JobSpec): JobSettings['selects'] =>
  select === undefined && decompose === undefined
    ? null
    : { refit: select?.refit ?? true, expands: decompose !== undefined };

/** Each name once; `rank_mode`, where it is given, is that of all of them. */
function rankMetricsOf(spec: JobSpec): RankMetric[] {
  const { type = DEFAULT_TYPE, select } = spec;
  const asked = selectsOf(spec)
    ? { metric: select?.by ?? SELECT_METRICS, mode: select?.mode }
    : { metric: spec.rank_metric ?? defaultRankMetrics(type), mode: spec.rank_mode };
  const names = typeof asked.metric === 'string' ? [asked.metric] : asked.metric;
  const distinct = names.length > 1 ? [...new Set(names)] : names;
  return distinct.map((metric) => ({ metric, mode: asked.mode ?? rankModeOf(metric) }));
}
