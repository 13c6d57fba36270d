import fc from 'fast-check';
import type { Operation, Request } from './operations.ts';

const many = fc.nat({ max: 30 });
const site = fc.constantFrom('a' as const, 'b' as const);

const submit = fc.record({
  op: fc.constant('submit' as const),
  tasks: fc.integer({ min: 1, max: 4 }),
  priority: fc.nat({ max: 2 }),
  attempts: fc.integer({ min: 1, max: 3 }),
  site: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: site }),
  limited: fc.boolean(),
  patient: fc.boolean(),
  key: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat({ max: 1 }) }),
  known: fc.boolean(),
  reuse: fc.boolean(),
  pinned: fc.boolean(),
});

const ofRegister = { op: fc.constant('register' as const), slots: fc.integer({ min: 1, max: 3 }), site };

const register = fc.record({
  ...ofRegister,
  again: fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: many }),
});

const session = fc.constantFrom(
  ...(['none', 'none', 'none', 'none', 'newest', 'newest', 'newest', 'older', 'ahead'] as const),
);

const lease = fc.record({
  op: fc.constant('lease' as const),
  worker: many,
  max: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 1, max: 3 }) },
    { weight: 1, arbitrary: fc.constant(0) },
  ),
  wait: fc.constantFrom(0, 0, 20.5, 50.5),
  session,
});

const report = fc.record({
  op: fc.constant('report' as const),
  task: many,
  verb: fc.constantFrom('start' as const, 'start' as const, 'complete' as const, 'fail' as const),
  by: fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: many }),
  attempt: fc.constantFrom(
    ...(['right', 'right', 'right', 'right', 'none', 'none', 'stale', 'ahead'] as const),
  ),
  retriable: fc.oneof(
    { weight: 3, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
  ill: fc.boolean(),
  lacks: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  givesBack: fc.oneof(
    { weight: 5, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});

const progress = fc.record({
  op: fc.constant('progress' as const),
  task: many,
  by: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: many }),
});

const beat = fc.record({
  op: fc.constant('beat' as const),
  worker: many,
  active: fc.constantFrom(
    null,
    null,
    'all' as const,
    'all' as const,
    'first' as const,
    'none' as const,
    'stale' as const,
    'stopping' as const,
  ),
  wait: fc.constantFrom(0, 0, 10),
  session,
  suspended: fc.oneof(
    { weight: 4, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});

const ofJob = (op: 'cancel' | 'retry') => fc.record({ op: fc.constant(op), job: many });

const scope = fc.constantFrom('all' as const, 'type' as const, 'owner' as const);
/** What is withheld is soon given again: else little else would happen. */
const operate: fc.Arbitrary<Request> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ op: fc.constant('pause' as const), scope }) },
  { weight: 4, arbitrary: fc.constant({ op: 'resume' as const, scope: null }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('resume' as const), scope }) },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant('priority' as const), job: many, priority: fc.nat({ max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('drain' as const), worker: many }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('undrain' as const), worker: many }) },
);

const request: fc.Arbitrary<Request> = fc.oneof(
  { weight: 5, arbitrary: submit },
  { weight: 4, arbitrary: register },
  { weight: 10, arbitrary: lease },
  { weight: 16, arbitrary: report },
  { weight: 1, arbitrary: progress },
  { weight: 6, arbitrary: beat },
  { weight: 3, arbitrary: ofJob('cancel') as fc.Arbitrary<Request> },
  { weight: 2, arbitrary: ofJob('retry') as fc.Arbitrary<Request> },
  { weight: 6, arbitrary: operate },
);

const again = submit.map((asked) => ({ ...asked, known: true, reuse: true }));
const wish = fc.oneof(ofJob('cancel'), ofJob('retry'), again) as fc.Arbitrary<Request>;
const slices = fc.integer({ min: 1, max: 3 });

const crash = (asked: fc.Arbitrary<Request>, commits: fc.Arbitrary<number>) =>
  fc.record({ op: fc.constant('crash' as const), request: asked, durable: fc.boolean(), commits });

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 60, arbitrary: request },
  { weight: 8, arbitrary: fc.record({ op: fc.constant('run' as const), worker: many }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('lost_lease' as const), worker: many }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('hang_up' as const), which: many }) },
  {
    weight: 12,
    arbitrary: fc.record({
      op: fc.constant('pass' as const),
      seconds: fc.constantFrom(1, 5, 9, 20, 30, 44, 46, 59, 61, 97, 200, 5000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('jump' as const),
      seconds: fc.constantFrom(-3600, 3600, -315_576_000, 315_576_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('stand_still' as const),
      seconds: fc.constantFrom(5, 46, 61, 5000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('unknown' as const),
      request: fc.constantFrom(...(['report', 'cancel', 'retry', 'beat', 'lease'] as const)),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ op: 'restart' as const }) },
  { weight: 2, arbitrary: crash(request, fc.constant(0)) },
  // What is told slice by slice is met in the middle of it.
  { weight: 8, arbitrary: crash(wish, slices) },
  {
    weight: 8,
    arbitrary: fc.record({ op: fc.constant('refuse_slice' as const), request: wish, commits: slices }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('at_once' as const),
      requests: fc
        .tuple(wish, fc.array(request, { minLength: 1, maxLength: 2 }))
        .map(([first, others]) => [first, ...others]),
      duringCommit: fc.constant(true),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      op: fc.constant('refuse' as const),
      request: fc.oneof(
        { weight: 2, arbitrary: request },
        { weight: 1, arbitrary: fc.record({ ...ofRegister, again: many }) },
      ),
      others: fc.array(request, { maxLength: 3 }),
      listing: fc.constantFrom(true, false, false, null),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant('at_once' as const),
      requests: fc.array(request, { minLength: 2, maxLength: 4 }),
      duringCommit: fc.boolean(),
    }),
  },
);

/**
 * Sequences of operations. They begin with a worker and a job, since those that shrink to nothing else say
 * nothing.
 */
export const sequences = (longest: number): fc.Arbitrary<Operation[]> =>
  fc
    .tuple(register, submit, fc.array(operation, { maxLength: longest, size: 'max' }))
    .map(([first, second, rest]) => [{ ...first, again: null }, { ...second, key: null }, ...rest]);
