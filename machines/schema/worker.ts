import { type Static, Type } from 'typebox';
import { bytesOf, LIMITS } from '../protocol/limits.ts';
import { AnyObject, Id, Labels, Name, Nullable, Seconds, TextMap, Words } from './common.ts';
import { ABSENT, NEEDED } from './lenient.ts';
import { RULES, type ValidationIssue } from './validate.ts';

const MAX_SLOTS = 100_000;
/** How a worker takes its leave. */
export const LEAVING = ['draining', 'stopped'] as const;

export const WorkerVersion = Type.Object(
  {
    python: Type.Optional(Type.String()),
    node: Type.Optional(Type.String()),
    platform: Type.Optional(Type.String()),
    cluster: Type.Optional(Type.String({ description: "the worker program's own version" })),
    packages: Type.Optional(TextMap),
  },
  { additionalProperties: true },
);

/** What a worker declares stays in memory and in every list of workers, so that it is bounded as a whole. */
function declaredFaults({ capabilities, version, labels }: Record<string, unknown>): ValidationIssue[] {
  const sizes = Object.entries({ capabilities, version, labels }).map(
    ([name, value]) => [value === undefined ? 0 : bytesOf(JSON.stringify(value)), name] as const,
  );
  const total = sizes.reduce((sum, [size]) => sum + size, 0);
  if (total <= LIMITS.declared) return [];
  const [, largest] = sizes.reduce((a, b) => (b[0] > a[0] ? b : a));
  const limit = `at most ${LIMITS.declared} are allowed`;
  return [
    {
      path: `/${largest}`,
      message: `capabilities, version and labels take ${total} bytes together; ${limit}`,
    },
  ];
}

export const WorkerRegistration = Type.Object(
  {
    worker_id: Type.Optional(Id('worker')),
    name: Type.Optional(Name),
    labels: Type.Optional(Labels),
    capabilities: Type.Optional(AnyObject),
    slots_total: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_SLOTS, default: 1 })),
    version: Type.Optional(WorkerVersion),
  },
  { [RULES]: declaredFaults },
);

export const WorkerRegistered = Type.Object(
  {
    worker_id: Id('worker'),
    heartbeat_interval_s: Type.Number({ [ABSENT]: 10 }),
    lease_ttl_s: Type.Number({ [ABSENT]: 60 }),
    rights: Type.Array(Type.String()),
    session: Type.Integer({
      [ABSENT]: undefined,
      description:
        'opened by this registration, larger than every earlier one of the worker; sent back with heartbeats and leases',
    }),
    accepts: Type.Array(Type.String(), {
      [ABSENT]: [],
      description:
        'what this server takes beyond what every server does: `report_files`, the small files of a task with the report of its end (`POST /v1/tasks/reports`), and `preempted`, tasks that are given back',
    }),
  },
  { [NEEDED]: ['worker_id'] },
);

const Session = Type.Optional(
  Type.Integer({
    minimum: 0,
    description: 'of the registration; when there has been a newer one, 409 `superseded`',
  }),
);

export const ActiveTask = Type.Object({
  task_id: Id('task'),
  attempt: Type.Integer({ minimum: 0 }),
  stopping: Type.Optional(Type.Boolean()),
});

export const HeartbeatRequest = Type.Object({
  active: Type.Optional(
    // No worker has more slots.
    Type.Array(ActiveTask, {
      maxItems: MAX_SLOTS,
      description: 'with it, only the listed leases are renewed',
    }),
  ),
  wait_s: Type.Optional(Type.Number({ minimum: 0, description: 'seconds the answer may be held back' })),
  session: Session,
  suspended: Type.Optional(
    Type.String({ description: 'why the worker asks for no tasks at present; null or absent: it does' }),
  ),
  leaving: Type.Optional(
    Words(LEAVING, 'the worker was told to end: it finishes what it has, or ends now and is heard no more'),
  ),
});

/** An operator's order to give a worker nothing more. */
export const DrainView = Type.Object({
  by: Type.String({ description: 'the principal that ordered it' }),
  at: Seconds,
  takes_back_at: Nullable(
    Type.Number({ description: 'when the tasks that it still has are taken back; null: never' }),
  ),
});

/** Seconds that a worker which is drained may be left its tasks. */
const LONGEST_DRAIN = 30 * 86_400;

export const DrainRequest = Type.Object({
  timeout_s: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: LONGEST_DRAIN,
      description:
        'seconds after which the tasks that it still has are queued again; absent: it finishes them',
    }),
  ),
});

export const HeartbeatReply = Type.Object({ ok: Type.Boolean(), cancel_task_ids: Type.Array(Type.String()) });

export const LeaseRequest = Type.Object({
  wait_s: Type.Optional(Type.Number({ minimum: 0, description: 'seconds to wait for work, at most 60' })),
  max_tasks: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 1,
      description: "0 withdraws: the worker's requests that still wait are answered now",
    }),
  ),
  session: Session,
});

export type WorkerVersion = Static<typeof WorkerVersion>;
export type WorkerRegistration = Static<typeof WorkerRegistration>;
export type ActiveTask = Static<typeof ActiveTask>;
export type HeartbeatRequest = Static<typeof HeartbeatRequest>;
export type HeartbeatReply = Static<typeof HeartbeatReply>;
export type LeaseRequest = Static<typeof LeaseRequest>;
