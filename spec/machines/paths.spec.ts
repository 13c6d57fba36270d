import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SnapshotFrom } from 'xstate';
import { getShortestPaths, getSimplePaths } from 'xstate/graph';
import { type JobContext, type JobEvent, jobMachine, type TaskCounts } from '../../machines/job/job.ts';
import { jobEventFor } from '../../machines/job/steps.ts';
import { rankedBy } from '../../machines/ranking/standing.ts';
import type { TaskStatus } from '../../machines/schema/views.ts';
import {
  type TaskContext,
  type TaskEmission,
  type TaskEvent,
  taskMachine,
} from '../../machines/task/task.ts';
import { nameOf } from './drive.ts';
import { BOUNDED, drive, ended, type Step, status } from './paths.ts';
import { ARRIVALS, JOB_EVENTS, jobContext, leftBy, succeeded, TASK_EVENTS, taskContext } from './samples.ts';

const taskEvents: TaskEvent[] = Object.values(TASK_EVENTS);

const ENDED = ['succeeded', 'failed', 'cancelled'];

function checkTask({
  from,
  to,
  before,
  after,
  event,
  emitted,
}: Step<TaskContext, TaskEvent, TaskEmission>): void {
  const step = `${from} × ${event.type} → ${to}`;
  assert.ok(after.attempt <= after.max_attempts, `${step}: no more attempts than allowed`);
  assert.ok(
    after.attempt >= before.attempt || event.type === 'UNDELIVERED',
    `${step}: attempts are never uncounted`,
  );
  assert.equal(
    after.attempt - before.attempt,
    { LEASE: to === from ? 0 : 1, UNDELIVERED: to === from ? 0 : -1 }[event.type as string] ?? 0,
    step,
  );
  assert.notEqual(to, 'lost', `${step}: lost is never a resting state`);
  if (ENDED.includes(from) && to !== from) assert.equal(step, 'failed × RETRY → queued');
  if (from === 'running.stopping') assert.ok([from, 'cancelled'].includes(to), `${step}: never relaunched`);
  const held = ['leased', 'running'].includes(status(to));
  assert.equal(
    after.lease_expires_at !== null,
    held,
    `${step}: a lease is held exactly while leased or running`,
  );
  if (held) assert.notEqual(after.worker_id, null, step);
  if (to === 'queued') assert.equal(after.worker_id, null, step);
  assert.equal(after.result !== null, to === 'succeeded', `${step}: there is a result exactly of a success`);
  const left = status(from) as TaskStatus;
  const told = emitted.flatMap((emission) => jobEventFor(emission, { id: 'task_1', from: left }) ?? []);
  assert.deepEqual(
    told.map(({ type }) => ARRIVALS[type]),
    status(to) === left ? [] : [status(to)],
    `${step}: the job is told once where the task has gone`,
  );
  const holds = (state: string) => Number(['leased', 'running'].includes(status(state)));
  const slots = emitted.map(({ type }) => ({ lease_started: 1, lease_ended: -1 })[type as string] ?? 0);
  assert.equal(
    slots.reduce((sum, n) => sum + n, 0),
    holds(to) - holds(from),
    `${step}: it says that its lease began or ended, exactly when it did`,
  );
}

const sum = (counts: TaskCounts) => Object.values(counts).reduce((total, n) => total + n, 0);

/** Whether all that a wish may be about have been told of it. A retry is about one failed task at least. */
function areAllTold(state: string, { queued, leased, cancelled }: TaskCounts): boolean {
  if (state === 'queued.requeuing') return queued > 0;
  return queued + leased === 0 && (state === 'cancelling.telling' || cancelled > 0);
}

const TELLING = ['queued.requeuing', 'cancelling.requeuing', 'cancelling.telling'];

/** What two tasks can tell their job next: as the task's own machine moves. */
function possible({ value, context: { counts } }: SnapshotFrom<typeof jobMachine>): JobEvent[] {
  const state = nameOf(value);
  const coming = [
    ...Object.values(JOB_EVENTS),
    succeeded('task_2', 0.3),
    succeeded('task_3', null),
  ] as JobEvent[];
  return coming.filter((event) => {
    const from = leftBy(event);
    if (from !== null && counts[from] === 0) return false;
    if (event.type === 'BULK_DONE') return TELLING.includes(state) && areAllTold(state, counts);
    if (from === null) return true;
    // Of a job that is retried no task is at work, and none is given one before all have come back.
    if (state.endsWith('requeuing')) {
      return from === 'failed' || (state.startsWith('cancelling') && event.type === 'TASK_CANCELLED');
    }
    if (status(state) === 'cancelling') return event.type === 'TASK_CANCELLED';
    return from !== 'failed';
  });
}

function checkJob({
  from,
  to,
  before,
  after,
  event,
  emitted,
}: Step<JobContext, JobEvent, { type: string }>): void {
  const step = `${from} × ${event.type} → ${to}, ${JSON.stringify(after.counts)}`;
  assert.equal(sum(after.counts), after.num_tasks, `${step}: every task is counted once`);
  assert.ok(
    Object.values(after.counts).every((n) => n >= 0),
    `${step}: no count is negative`,
  );
  // While they are told, all may have ended for a moment: it is over when all have been told.
  if (!TELLING.includes(to)) {
    assert.equal(ended(after) === after.num_tasks, ENDED.includes(to), `${step}: it ends with its last task`);
  }
  if (ENDED.includes(from) && to !== from) {
    assert.match(`${from} ${event.type} ${to}`, /^(failed|succeeded) RETRY queued\.requeuing$/);
    assert.ok(before.counts.failed > 0, `${step}: there is something to try again`);
  }
  if (to === 'succeeded') assert.ok(after.counts.succeeded > 0, step);
  if (to === 'failed') {
    assert.ok(after.counts.failed > 0 && after.counts.succeeded === 0, step);
  }
  if (to === 'cancelled' && status(from) !== 'cancelling')
    assert.equal(after.counts.cancelled, after.num_tasks, `${step}: each of its tasks was cancelled`);
  if (status(from) === 'cancelling') assert.ok(['cancelling', 'cancelled'].includes(status(to)), step);
  if (status(to) === 'queued') assert.equal(after.counts.leased + after.counts.running, 0, step);
  const best = rankedBy(after.standings);
  const bestBefore = rankedBy(before.standings);
  if (best.best_task_id !== null) assert.ok(after.counts.succeeded > 0, `${step}: a best task is a success`);
  assert.equal(best.best_task_id === null, best.best_metric === null, `${step}: a best task has a value`);
  if (bestBefore.best_metric !== null)
    assert.ok((best.best_metric as number) <= bestBefore.best_metric, step);
  if (ENDED.includes(to)) {
    assert.equal(after.error !== null, to === 'failed', `${step}: an ended job has an error if it failed`);
  }
  const telling = ENDED.includes(from) ? 'job_retried' : `job_${status(to)}`;
  const silent = status(to) === status(from) || status(to) === 'cancelling';
  assert.deepEqual(
    emitted.map(({ type }) => type),
    silent ? [] : [telling],
    step,
  );
}

describe('every path of a task', () => {
  const initial: [string, TaskContext] = ['queued', taskContext()];
  const options = {
    input: taskContext(),
    events: taskEvents,
    ...BOUNDED,
    serializeState: ({ value, context }: SnapshotFrom<typeof taskMachine>) =>
      JSON.stringify([value, context.attempt, context.max_attempts, context.worker_faults]) as never,
  };

  const isMore = (event: TaskEvent) =>
    event.type === 'RETRY' ||
    event.type === 'TAKE_BACK' ||
    event.type === 'GIVE_BACK' ||
    (event.type === 'FAIL' && event.fault === 'worker' && event.elsewhere);

  it('keeps the rules of attempts, leases and ends, with up to four attempts and a retry by a person', () => {
    const paths = getShortestPaths(taskMachine, {
      ...options,
      filterEvents: ({ context }, event) => !isMore(event) || context.max_attempts < 4,
    });
    const reached = new Set(paths.map(({ state }) => nameOf(state.value)));
    assert.deepEqual([...reached].sort(), [
      'cancelled',
      'failed',
      'leased',
      'queued',
      'running.executing',
      'running.stopping',
      'succeeded',
    ]);
    const steps = drive(taskMachine, initial, paths, () => taskEvents, checkTask as never);
    assert.ok(steps > 500, `${steps} steps`);
  });

  it('keeps these rules without a repeated state, not only where it is shortest', () => {
    const paths = getSimplePaths(taskMachine, { ...options, filterEvents: (_, event) => !isMore(event) });
    drive(taskMachine, initial, paths, () => [], checkTask as never);
    assert.ok(paths.length > 100, `${paths.length} paths`);
  });
});

describe('every path of a job with two tasks', () => {
  it('keeps the counts, ends with its last task, and comes back only by a retry', () => {
    const paths = getShortestPaths(jobMachine, {
      input: jobContext({ queued: 2 }),
      events: possible,
      ...BOUNDED,
      serializeState: ({ value, context }) =>
        JSON.stringify([value, context.counts, context.standings, context.error]) as never,
    });
    const reached = new Set(paths.map(({ state }) => nameOf(state.value)));
    const below = [...TELLING, 'queued.ready', 'running.computing', 'cancelling.stopping'];
    const states = [...Object.keys(jobMachine.states), ...below];
    const resting = states.filter((state) => !['queued', 'running', 'cancelling'].includes(state));
    assert.deepEqual([...reached].sort(), resting.sort());
    const steps = drive(
      jobMachine,
      ['queued.ready', jobContext({ queued: 2 })],
      paths,
      () => [],
      checkJob as never,
    );
    assert.ok(steps > 100, `${steps} steps on ${paths.length} paths`);
  });
});
