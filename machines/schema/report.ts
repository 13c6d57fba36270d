import { type Static, Type } from 'typebox';
import { KNOWN_ROLES, OUTPUT } from '../protocol/artifact-roles.ts';
import { Nullable, Words } from './common.ts';
import { RULES, type ValidationIssue } from './validate.ts';

export const LEVELS = ['debug', 'info', 'warning', 'error'] as const;
export const Level = Words(LEVELS);

/** Texts beyond their limits are cut, not refused (docs/protocol.md#limits; `machines/report/limits.ts`). */
export const ReportedEvent = Type.Object({
  type: Type.Optional(
    Type.String({ minLength: 1, default: 'log', description: 'beyond 100 bytes it is cut' }),
  ),
  level: Type.Optional(Level),
  message: Type.Optional(Type.String({ description: 'beyond 64 KiB it is cut' })),
  progress: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'kept as data.progress' })),
  data: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'beyond 256 KiB, members are left out and `left_out` says which',
    }),
  ),
});

/** One event, or several as `{events: [...]}`. */
export const EventReport = Type.Object({
  ...ReportedEvent.properties,
  events: Type.Optional(Type.Array(ReportedEvent, { maxItems: 1000 })),
});

/** Whose fault a failure is: the task's own, of what the submitter named, or of the worker that tried. */
export const FaultClass = Words(['task', 'input', 'worker']);

/** Why a worker fails a task that has nothing wrong with it: the worker has to end. */
export const PREEMPTED = 'preempted';

export const FailReport = Type.Object({
  error: Type.String({ description: 'one line that a person can act on; beyond 16 KiB it is cut' }),
  traceback: Type.Optional(Type.String({ description: 'beyond 64 KiB it is cut' })),
  retriable: Type.Optional(
    Type.Boolean({ default: true, description: 'false fails the task whatever attempts remain' }),
  ),
  fault: Type.Optional({
    ...FaultClass,
    default: 'task',
    description:
      'worker: this worker cannot do it, another one may; costs no attempt, at most five times a task, and the task avoids the worker',
  }),
  missing_path: Type.Optional(
    Type.String({ description: 'with the fault worker: a path, as the job names it, that is missing there' }),
  ),
  reason: Type.Optional(
    Type.String({
      description:
        '`preempted`: the worker has to end, and gives the task back; it goes to its place in the queue, and no attempt is spent. Any other is passed over',
    }),
  ),
});

const Metric = Nullable(Type.Number());

/** What a worker reports on success; unknown members are kept (docs/protocol.md#results). */
export const TaskResult = Type.Object({
  status: Type.Optional(Type.Literal('succeeded', { default: 'succeeded' })),
  pipeline_fingerprint: Type.Optional(Type.String()),
  duration_seconds: Type.Optional(Type.Number({ minimum: 0 })),
  metrics: Type.Optional(
    Type.Record(Type.String(), Type.Union([Metric, Type.Unknown()]), {
      description: 'up to 1,000 numbers; whatever else it holds moves to `extra.metrics`',
    }),
  ),
  counts: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'up to 1,000 numbers; whatever else it holds moves to `extra.counts`',
    }),
  ),
  artifacts: Type.Optional(Type.Record(Type.String(), Nullable(Type.String()))),
  variants: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'of a task that was to `expand` its pipeline: the pipelines that it holds, each as a JSON text; at most 10,000',
    }),
  ),
  extra: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'beyond 1 MiB, members are left out and `left_out` says which',
    }),
  ),
});

const Attempt = Type.Optional(Type.Integer({ minimum: 0, description: 'fences: a stale attempt gets 409' }));
const Worker = Type.String({ minLength: 1 });

/** Who reports: the worker that holds the task, and the attempt that it runs. */
export const Holder = Type.Object({ worker_id: Worker, attempt: Attempt });
/** The same where naming them is optional. */
export const MaybeHolder = Type.Object({ worker_id: Type.Optional(Worker), attempt: Attempt });

const Task = Type.String({ minLength: 1 });

/** A small file of an attempt that travels with the report of its end: what an upload of its own would bring. */
export const ReportedFile = Type.Object({
  role: Type.String({
    minLength: 1,
    maxLength: 100,
    description: `${KNOWN_ROLES.join(', ')} or ${OUTPUT}`,
  }),
  kind: Type.Optional(Type.String({ minLength: 1, maxLength: 100, default: 'blob' })),
  filename: Type.Optional(Type.String()),
  content: Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$', description: 'its bytes in base64' }),
});

const Files = Type.Optional(
  Type.Array(ReportedFile, {
    maxItems: 1000,
    description:
      'recorded with the report, or not at all; all but outputs are named by their role among the artifacts of the result',
  }),
);

/** One report among many; each is what the endpoint of its own takes, and the end of an attempt may bring its files. */
export const TaskReport = Type.Union(
  [
    Type.Object({ type: Type.Literal('start'), task_id: Task, ...Holder.properties }),
    Type.Object({
      type: Type.Literal('events'),
      task_id: Task,
      ...MaybeHolder.properties,
      events: Type.Array(ReportedEvent, { maxItems: 1000 }),
    }),
    Type.Object({
      type: Type.Literal('complete'),
      task_id: Task,
      ...Holder.properties,
      result: TaskResult,
      files: Files,
    }),
    Type.Object({
      type: Type.Literal('fail'),
      task_id: Task,
      ...Holder.properties,
      failure: FailReport,
      files: Files,
    }),
  ],
  { discriminator: { propertyName: 'type' } },
);

/** Reports on many tasks, taken in their order. */
export const TaskReports = Type.Object(
  { reports: Type.Array(TaskReport, { maxItems: 1000 }) },
  { [RULES]: tooManyEvents },
);

/** Events of all reports together that one request may bring. */
const MOST_EVENTS = 10_000;

function tooManyEvents({ reports }: Record<string, unknown>): ValidationIssue[] {
  if (!Array.isArray(reports)) return [];
  let count = 0;
  for (const report of reports) if (Array.isArray(report?.events)) count += report.events.length;
  if (count <= MOST_EVENTS) return [];
  return [{ path: '/reports', message: `must hold at most ${MOST_EVENTS} events together, not ${count}` }];
}

export const Ok = Type.Object({ ok: Type.Boolean() });
export const FailReply = Type.Object({ ok: Type.Boolean(), requeued: Type.Boolean() });

/** What became of each report, in the order of the reports: its answer, or the error it would have got by itself. */
export const TaskReportsReply = Type.Object({
  results: Type.Array(
    Type.Object({
      ok: Type.Boolean(),
      requeued: Type.Optional(Type.Boolean({ description: 'of a failure' })),
      status: Type.Optional(Type.Integer({ description: 'HTTP status of the error' })),
      error: Type.Optional(Type.Object({ detail: Type.String(), code: Type.String() })),
    }),
  ),
});

export type Level = Static<typeof Level>;
export type ReportedEvent = Static<typeof ReportedEvent>;
export type EventReport = Static<typeof EventReport>;
export type FaultClass = Static<typeof FaultClass>;
export type FailReport = Static<typeof FailReport>;
export type TaskResult = Static<typeof TaskResult>;
export type ReportedFile = Static<typeof ReportedFile>;
export type TaskReport = Static<typeof TaskReport>;
