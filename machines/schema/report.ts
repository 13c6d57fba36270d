import { type Static, Type } from 'typebox';
import { AnyObject, Nullable, Words } from './common.ts';

export const Level = Words(['debug', 'info', 'warning', 'error']);

export const ReportedEvent = Type.Object({
  type: Type.String({ minLength: 1, maxLength: 100 }),
  level: Type.Optional(Level),
  message: Type.Optional(Type.String()),
  progress: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'kept as data.progress' })),
  data: Type.Optional(AnyObject),
});

/** One event, or several as `{events: [...]}`. */
export const EventReport = Type.Object({
  ...Type.Partial(ReportedEvent).properties,
  events: Type.Optional(Type.Array(ReportedEvent, { maxItems: 1000 })),
});

export const FailReport = Type.Object({
  error: Type.String({ description: 'one line that a person can act on' }),
  traceback: Type.Optional(Type.String()),
  retriable: Type.Optional(Type.Boolean({ default: true })),
});

const Metric = Nullable(Type.Number());

/** What a worker reports on success; unknown members are kept (contract, "Workers and leases"). */
export const TaskResult = Type.Object({
  status: Type.Literal('succeeded'),
  pipeline_fingerprint: Type.Optional(Type.String()),
  duration_seconds: Type.Optional(Type.Number({ minimum: 0 })),
  metrics: Type.Optional(Type.Record(Type.String(), Type.Union([Metric, Type.Unknown()]))),
  counts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  artifacts: Type.Optional(Type.Record(Type.String(), Nullable(Type.String()))),
  extra: Type.Optional(AnyObject),
});

export const Ok = Type.Object({ ok: Type.Boolean() });
export const FailReply = Type.Object({ ok: Type.Boolean(), requeued: Type.Boolean() });

export type Level = Static<typeof Level>;
export type ReportedEvent = Static<typeof ReportedEvent>;
export type EventReport = Static<typeof EventReport>;
export type FailReport = Static<typeof FailReport>;
export type TaskResult = Static<typeof TaskResult>;
