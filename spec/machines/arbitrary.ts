import fc from 'fast-check';
import type { EventObject } from 'xstate';
import type { JobContext } from '../../machines/job/job.ts';
import { NO_TASKS } from './samples.ts';

/** Contexts and events of the machines, whether they can come about or not: for what must hold of all. */
interface Arbitraries {
  context: fc.Arbitrary<object>;
  events: Record<string, fc.Arbitrary<EventObject>>;
}

const word = fc.constantFrom('a', 'b', 'c');
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary);
const few = fc.integer({ min: 0, max: 3 });
const metric = maybe(fc.constantFrom(-1, 0, 0.5, 2));
const others = fc.array(metric, { maxLength: 1 });
const from = fc.constantFrom('queued', 'leased', 'running', 'lost', 'failed');
const report = fc.record({
  worker_id: word,
  attempt: few,
  verb: fc.constantFrom('start', 'complete', 'fail'),
});

function events(payloads: Record<string, Record<string, fc.Arbitrary<unknown>>>): Arbitraries['events'] {
  const entries = Object.entries(payloads).map(([type, payload]) => [
    type,
    fc.record({ type: fc.constant(type), ...payload }),
  ]);
  return Object.fromEntries(entries);
}

const place = fc.option(
  fc.record({
    pipeline: fc.constantFrom(0, 1),
    dataset: fc.constantFrom(0, 1),
    role: fc.constantFrom('expansion', 'variant', 'refit'),
  }),
  { nil: undefined },
);
const best = fc.record({ reported: few, value: metric, task_id: maybe(word), pipeline: few });
const selection = maybe(
  fc.record({
    refit: fc.boolean(),
    expanding: fc.boolean(),
    datasets: fc.array(
      fc.record({
        dataset: word,
        left: few,
        succeeded: few,
        bests: fc.array(best, { minLength: 1, maxLength: 1 }),
        decided: fc.boolean(),
        choice: maybe(
          fc.record({
            task_id: word,
            pipeline: few,
            metric: word,
            mode: fc.constantFrom('min', 'max'),
            value: few,
            refit: fc.constantFrom('none', 'wanted', 'open', 'succeeded', 'failed', 'cancelled'),
            refit_task_id: maybe(word),
          }),
        ),
        error: maybe(word),
      }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
);

const task: Arbitraries = {
  context: fc.record({
    id: word,
    job_id: word,
    attempt: few,
    max_attempts: few,
    backoff_seconds: fc.constantFrom(0, 1, 500),
    not_before: maybe(few),
    worker_faults: fc.integer({ min: 0, max: 7 }),
    take_backs: fc.integer({ min: 0, max: 3 }),
    avoids: fc.array(word, { maxLength: 2 }),
    worker_id: maybe(word),
    lease_expires_at: maybe(few),
    started_at: maybe(few),
    error: maybe(word),
    result: maybe(word),
    rank_value: metric,
    rank_others: others,
    model_artifact_id: maybe(word),
    reused_from: fc.constant(null),
    last_report: maybe(report),
  }),
  events: events({
    LEASE: { worker_id: word, lease_expires_at: few },
    UNDELIVERED: {},
    TAKE_BACK: {},
    START: { now: few, report },
    COMPLETE: {
      result: word,
      rank_value: metric,
      rank_others: others,
      model_artifact_id: maybe(word),
      report,
    },
    REUSED: {
      result: word,
      metrics: word,
      rank_value: metric,
      rank_others: others,
      model_artifact_id: maybe(word),
      reused_from: fc.record({ job_id: word, task_id: word }),
    },
    FAIL: {
      now: few,
      error: word,
      retriable: fc.boolean(),
      fault: fc.constantFrom('task', 'input', 'worker'),
      missing_path: fc.option(word, { nil: undefined }),
      by: word,
      elsewhere: fc.boolean(),
      traceback: fc.option(word, { nil: undefined }),
      report,
    },
    GIVE_BACK: { report },
    LEASE_EXPIRED: {},
    TIMEOUT: { now: few, error: word },
    GIVE_UP: { error: word },
    CANCEL: {},
    RETRY: { extra_attempts: few },
  }),
};

const counts = fc.record(Object.fromEntries(Object.keys(NO_TASKS).map((status) => [status, few])));

const job: Arbitraries = {
  context: fc
    .record({
      id: word,
      counts: counts as fc.Arbitrary<unknown> as fc.Arbitrary<JobContext['counts']>,
      num_tasks: few,
      standings: fc.array(
        fc.record({
          metric: word,
          mode: fc.constantFrom('min', 'max'),
          reported: few,
          best_metric: metric,
          best_task_id: maybe(word),
          best_model_artifact_id: maybe(word),
        }),
        { minLength: 1, maxLength: 2 },
      ) as fc.Arbitrary<unknown> as fc.Arbitrary<JobContext['standings']>,
      num_reused: few,
      selection: selection as fc.Arbitrary<JobContext['selection']>,
      error: maybe(word),
    })
    // As many tasks as are counted, and one that is about to end, or any other number.
    .map((context) => {
      const ended = context.counts.succeeded + context.counts.failed + context.counts.cancelled;
      return context.num_tasks === 0 ? context : { ...context, num_tasks: ended + context.num_tasks };
    }),
  events: events({
    CANCEL: {},
    RETRY: {},
    BULK_DONE: {},
    TASK_LEASED: { from },
    TASK_STARTED: { from },
    TASK_REQUEUED: { from, place },
    VARIANTS_ADDED: { variants: few, reuse: fc.boolean() },
    REFIT_ADDED: { dataset: fc.constantFrom(0, 1), task_id: word },
    TASK_SUCCEEDED: {
      place,
      from: fc.constantFrom('running', 'queued'),
      task_id: word,
      rank_value: metric,
      rank_others: others,
      model_artifact_id: maybe(word),
    },
    TASK_FAILED: { from, error: word, place },
    TASK_CANCELLED: { from, place },
  }),
};

const drainOrder = fc.record({ by: word, at: few, takes_back_at: maybe(few) });

const worker: Arbitraries = {
  context: fc.record({
    id: word,
    slots_total: few,
    slots_used: few,
    suspended: maybe(word),
    leaving: fc.constantFrom(null, 'draining' as const, 'stopped' as const),
    drained: maybe(drainOrder),
  }),
  events: events({
    REGISTER: { slots_total: few },
    HEARTBEAT: {},
    SUSPEND: { reason: word },
    RESUME: {},
    DRAIN: {},
    STOP: {},
    HEARTBEAT_MISSED: {},
    TASK_TAKEN: {},
    TASK_RELEASED: {},
    DRAIN_ORDERED: { order: drainOrder },
    DRAIN_LIFTED: {},
    REMOVE: {},
  }),
};

const supervisor: Arbitraries = {
  context: fc.record({ failures: few, fault: maybe(word) }),
  events: events({ RECOVERED: {}, COMMITTED: {}, COMMIT_FAILED: { fault: word }, DRAIN: {}, DRAINED: {} }),
};

export const ARBITRARY = { job, task, worker, supervisor };
