import { type Static, Type } from 'typebox';
import { LIMITS } from '../protocol/limits.ts';
import { AnyObject, Bounded, Id, Labels, Name } from './common.ts';
import { jobRules } from './job-rules.ts';
import { DEFAULT_TYPE, isPrediction } from './job-types.ts';
import { FORM, RULES } from './validate.ts';

/** What the label of a dataset that lies on some workers begins with. */
export const DATASET_LABEL = 'dataset.';

const Kind = <const K extends string>(kind: K) => Type.Literal(kind);
const Path = Type.String({ minLength: 1, maxLength: LIMITS.path, description: 'path as the worker sees it' });

const PipelineName = Type.Optional(
  Type.String({ maxLength: LIMITS.name, description: 'its label in rankings and lists' }),
);

/** Where the pipeline comes from (docs/protocol.md#pipelines). */
export const PipelineRef = Type.Union(
  [
    Type.Object({ kind: Kind('path'), path: Path, name: PipelineName }),
    Type.Object({ kind: Kind('artifact'), artifact_id: Id('artifact'), name: PipelineName }),
    Type.Object({
      kind: Kind('inline_json'),
      name: PipelineName,
      inline: Type.Unknown({ description: 'any JSON; reaches the runner exactly as written' }),
      expected_fingerprint: Type.Optional(
        Type.String({
          description:
            '`sha256:` and 64 hex digits; any other text gives a warning, since no pipeline can have it',
        }),
      ),
    }),
    Type.Object({
      kind: Kind('python_entrypoint'),
      name: PipelineName,
      entrypoint: Type.String({
        pattern: '^[A-Za-z_][\\w.]*(:[A-Za-z_]\\w*)?$',
        [FORM]: 'a module, with a function of it behind a colon, such as pipelines:best',
        maxLength: LIMITS.name,
        description: 'module:function',
      }),
      bundle_artifact_id: Type.Optional(Id('artifact')),
    }),
  ],
  { discriminator: { propertyName: 'kind' } },
);

/** Where the model comes from that a job predicts with (docs/protocol.md#models). */
export const ModelRef = Type.Union(
  [
    Type.Object({ kind: Kind('artifact'), artifact_id: Id('artifact'), name: PipelineName }),
    Type.Object({
      kind: Kind('best_model'),
      job_id: Id('job'),
      artifact_id: Type.Optional(
        Type.String({
          maxLength: 200,
          description:
            'which that is; the server finds it when the job is submitted, whatever is written here',
        }),
      ),
      name: PipelineName,
    }),
  ],
  { discriminator: { propertyName: 'kind' } },
);

/** Where the dataset comes from (docs/protocol.md#datasets). */
export const DatasetRef = Type.Union(
  [
    Type.Object({ kind: Kind('shared_path'), path: Path, name: Type.Optional(Name) }),
    Type.Object({ kind: Kind('artifact'), artifact_id: Id('artifact'), name: Type.Optional(Name) }),
    Type.Object({
      kind: Kind('catalog'),
      catalog_id: Type.String({ minLength: 1, maxLength: LIMITS.name, description: 'name or name@version' }),
      sha256: Type.Optional(
        Type.String({
          pattern: '^[0-9a-f]{64}$',
          [FORM]: 'a SHA-256: 64 digits of 0 to 9 and a to f',
          description: 'of the entry; a worker whose catalog has another one refuses the task',
        }),
      ),
    }),
    Type.Object({
      kind: Kind('worker_local'),
      path: Type.Optional(Path),
      name: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: LIMITS.key - DATASET_LABEL.length,
          description: 'of a dataset that the worker declared, which is a label of its own',
        }),
      ),
    }),
  ],
  { discriminator: { propertyName: 'kind' } },
);

export const Requirements = Type.Object({
  labels: Type.Optional(Labels),
  min_memory_gb: Type.Optional(
    Type.Number({ minimum: 0, description: 'GiB the worker must declare at least' }),
  ),
  min_gpu_count: Type.Optional(Type.Integer({ minimum: 0 })),
  packages: Type.Optional(
    Bounded(Type.String({ maxLength: LIMITS.value }), 'package name to PEP 440 constraint; "" means present'),
  ),
  capabilities: Type.Optional(
    Bounded(Type.Boolean(), 'what is true keeps the task from workers that declare it as false'),
  ),
});

export const Outputs = Type.Object({
  export_best_model: Type.Optional(Type.Boolean({ default: true })),
  keep_task_workspace: Type.Optional(Type.Boolean({ default: false })),
});

const RankMetricName = Type.String({ minLength: 1, maxLength: LIMITS.key });
const RankMetrics = (options: { default: string; description: string }) =>
  Type.Optional(
    Type.Union(
      [RankMetricName, Type.Array(RankMetricName, { minItems: 1, maxItems: LIMITS.rankMetrics })],
      options,
    ),
  );
const RankMode = Type.Optional(
  Type.Unsafe<'min' | 'max'>({
    type: 'string',
    enum: ['min', 'max'],
    description: 'whether the smallest or the largest value is best; left out: by the name of the metric',
  }),
);

/** That the best of the pipelines is to be found, and refitted. */
export const Select = Type.Object(
  {
    by: RankMetrics({
      default: 'cv_rmse',
      description:
        'a metric, or a list of which the first counts that every variant reports; else cv_rmse, cv_balanced_accuracy, cv_accuracy',
    }),
    mode: RankMode,
    refit: Type.Optional(
      Type.Boolean({ default: true, description: 'whether the best is refitted and exported at last' }),
    ),
  },
  {
    description:
      'runs each pipeline without a refit, selects the best on each dataset by cross-validation, and refits that',
  },
);

const NativePayload = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'reaches the workers of its tasks as written, as `nativePayload`; of both names `native_payload` counts',
});

/** How long a job stays after its end. */
export const Keep = Type.String({
  pattern: '^(forever|[1-9][0-9]{0,3}(min|h|d))$',
  [FORM]: 'forever, or a length of time of min, h or d, such as 7d',
  description: '`forever`, or how long it stays after its end, as a whole, such as `7d`',
});

/** What is said of a job for people. */
export const Note = Type.String({
  maxLength: LIMITS.note,
  description: 'what is to be known of it, for people',
});

/** Words by which jobs are found. */
export const Tags = Type.Array(
  Type.String({
    pattern: '^[^\\s,]+( [^\\s,]+)*$',
    [FORM]: 'a word, or several with single spaces between them, without commas',
    maxLength: LIMITS.tag,
    description: 'words with single spaces between them, without commas',
  }),
  { maxItems: LIMITS.tags, description: 'by which it is found' },
);

export const Priority = Type.Integer({
  minimum: -1_000_000_000,
  maximum: 1_000_000_000,
  default: 0,
  description: 'larger first',
});

/** The job specification as a client submits it; its defaults are applied by `settingsOf`. */
export const JobSpec = Type.Object(
  {
    type: Type.Optional(
      Type.String({
        pattern: '^[a-z][a-z0-9_]*\\.(run|predict)$',
        [FORM]: 'the name of a library with .run or .predict behind it, such as mljs.run',
        maxLength: LIMITS.type,
        default: DEFAULT_TYPE,
        description: '<lib>.run, or <lib>.predict with a model in the place of pipelines',
      }),
    ),
    name: Type.Optional(Name),
    note: Type.Optional(Note),
    tags: Type.Optional(Tags),
    priority: Type.Optional(Priority),
    pipeline: Type.Optional(PipelineRef),
    pipelines: Type.Optional(Type.Array(PipelineRef, { minItems: 1 })),
    model: Type.Optional(ModelRef),
    dataset: Type.Optional(DatasetRef),
    datasets: Type.Optional(Type.Array(DatasetRef, { minItems: 1 })),
    params: Type.Optional(AnyObject),
    native_payload: Type.Optional(NativePayload),
    nativePayload: Type.Optional(NativePayload),
    requirements: Type.Optional(Requirements),
    outputs: Type.Optional(Outputs),
    retry: Type.Optional(
      Type.Object({
        max_attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 2 })),
        backoff_seconds: Type.Optional(
          Type.Number({
            minimum: 0,
            maximum: 600,
            default: 0,
            description:
              'wait before a failed task is tried again; doubled with each further attempt that counts, up to 600',
          }),
        ),
      }),
    ),
    timeout_seconds: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 31_536_000, description: 'seconds per attempt' }),
    ),
    rank_metric: RankMetrics({
      default: 'best_rmse',
      description:
        'a metric, or a list of which the job ranks by the first that every succeeded task reports; of nirs4all.run best_rmse, else cv_rmse; of <lib>.predict rmse, else accuracy',
    }),
    rank_mode: RankMode,
    select: Type.Optional(Select),
    decompose: Type.Optional(
      Type.Unsafe<'variants'>({
        type: 'string',
        enum: ['variants'],
        description:
          'the one pipeline holds several, as generators or lists: the library finds them, and each is a task; implies `select`',
      }),
    ),
    reuse: Type.Optional(
      Type.Unsafe<boolean | 'any'>({
        enum: [false, true, 'any'],
        default: false,
        description:
          'answer a task whose equal has succeeded before with its result: `true` takes those of the same owner, `any` those of everybody',
      }),
    ),
    keep: Type.Optional(Keep),
    resubmitted_from: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description:
          'id of the job of which this is a repeated or changed submission; both are shown as linked',
      }),
    ),
    idempotency_key: Type.Optional(
      Type.String({ minLength: 1, maxLength: 500, description: 'unique per principal' }),
    ),
  },
  { [RULES]: jobRules },
);

export type PipelineRef = Static<typeof PipelineRef>;
export type ModelRef = Static<typeof ModelRef>;
export type DatasetRef = Static<typeof DatasetRef>;
export type Requirements = Static<typeof Requirements>;
export type JobSpec = Static<typeof JobSpec>;

/** Members that other clients are known to send and that mean nothing here (docs/protocol.md#jobs). */
export const SILENT_MEMBERS = ['parity', 'scheduler', 'submission'];

export const DEFAULT_MAX_ATTEMPTS = 2;
/** What a job ranks by that does not say; without a validation set nirs4all has cross-validation alone. */
export function defaultRankMetrics(type: string): readonly string[] {
  if (isPrediction(type)) return ['rmse', 'accuracy'];
  return type === 'nirs4all.run' ? ['best_rmse', 'cv_rmse'] : ['best_rmse'];
}

/** Most tasks that one job may decompose into (docs/protocol.md#errors, 422). */
export const MAX_TASKS = 100_000;
