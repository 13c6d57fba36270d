import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type JobContext, type JobEvent, jobMachine, type TaskCounts } from '../../machines/job/job.ts';
import { jobEventFor } from '../../machines/job/steps.ts';
import { noStanding, rankedBy } from '../../machines/ranking/standing.ts';
import type { TaskStatus } from '../../machines/schema/views.ts';
import type { TaskEmission } from '../../machines/task/task.ts';
import { Driven } from './drive.ts';
import { ARRIVALS, JOB_EVENTS, jobContext, leftBy, NO_TASKS, succeeded } from './samples.ts';

const job = (state: string, counts: Partial<TaskCounts>, changes: Partial<JobContext> = {}) =>
  new Driven(jobMachine, state, jobContext(counts, changes));
const running = (tasks: number, changes: Partial<JobContext> = {}) =>
  job('running.computing', { running: tasks }, changes);
const failed = (error: string): JobEvent => ({ type: 'TASK_FAILED', from: 'running', error });

describe('the counts of a job', () => {
  for (const [name, event] of Object.entries(JOB_EVENTS) as [string, JobEvent][]) {
    const to = ARRIVALS[event.type];
    if (to === undefined) continue;
    const from = leftBy(event) as keyof TaskCounts;
    it(`move one task from ${from} to ${to} on ${name}`, () => {
      const state = event.type === 'TASK_CANCELLED' ? 'cancelling.telling' : 'running.computing';
      // Three tasks in each state keep the job open, and show which two numbers change.
      const three = Object.fromEntries(Object.keys(NO_TASKS).map((key) => [key, 3])) as unknown as TaskCounts;
      const moved = job(state, three);
      moved.send(event);
      assert.deepEqual(moved.snapshot.context.counts, { ...three, [from]: 2, [to]: 4 });
    });
  }

  it('bring the failed tasks of a retried job back one by one', () => {
    const retried = job('failed', { failed: 2 }, { error: 'x' });
    assert.deepEqual(retried.send({ type: 'RETRY' }), [{ type: 'job_retried' }]);
    retried.sendAll(JOB_EVENTS['TASK_REQUEUED failed'], JOB_EVENTS['TASK_REQUEUED failed']);
    assert.deepEqual(retried.snapshot.context, jobContext({ queued: 2 }));
    assert.equal(retried.state, 'queued.requeuing');
    assert.deepEqual(retried.send({ type: 'BULK_DONE' }), []);
    assert.equal(retried.state, 'queued.ready');
  });

  it('change one by one when a job is cancelled, which ends when the cancellation has reached all its tasks', () => {
    const queued = job('queued.ready', { queued: 2, failed: 1 });
    const told = JOB_EVENTS['TASK_CANCELLED queued'];
    assert.deepEqual(queued.sendAll({ type: 'CANCEL' }, told, told), []);
    assert.deepEqual(queued.snapshot.context.counts, { ...NO_TASKS, cancelled: 2, failed: 1 });
    assert.equal(queued.state, 'cancelling.telling');
    assert.deepEqual(queued.send({ type: 'BULK_DONE' }), [{ type: 'job_cancelled' }]);
  });

  it('are those of a completed retry when the job is cancelled in the middle of one', () => {
    const retried = job('failed', { failed: 2 });
    retried.sendAll({ type: 'RETRY' }, JOB_EVENTS['TASK_REQUEUED failed'], { type: 'CANCEL' });
    const told = JOB_EVENTS['TASK_CANCELLED queued'];
    assert.deepEqual(retried.sendAll(told, JOB_EVENTS['TASK_REQUEUED failed'], told), []);
    assert.deepEqual(retried.snapshot.context.counts, { ...NO_TASKS, cancelled: 2 });
    assert.deepEqual(retried.send({ type: 'BULK_DONE' }), [{ type: 'job_cancelled' }]);
  });
});

describe('the end of a job', () => {
  it('is success, without an error, when one task of several succeeded', () => {
    const ended = running(2);
    ended.send(failed('the spectra are empty'));
    assert.deepEqual(ended.send(succeeded('task_2', 0.5)), [{ type: 'job_succeeded' }]);
    assert.equal(ended.snapshot.context.error, null);
  });

  it('is failure with the error of the task that failed last', () => {
    const ended = running(2);
    ended.send(failed('first'));
    assert.deepEqual(ended.send(failed('second')), [{ type: 'job_failed', error: 'second' }]);
    assert.equal(ended.snapshot.context.error, 'second');
  });

  it('is cancellation, without an error, however its tasks ended', () => {
    const ended = running(3);
    ended.sendAll(failed('x'), succeeded('task_2', 0.5), { type: 'CANCEL' }, { type: 'BULK_DONE' });
    assert.equal(ended.state, 'cancelling.stopping');
    assert.deepEqual(ended.send(JOB_EVENTS['TASK_CANCELLED running']), [{ type: 'job_cancelled' }]);
    assert.deepEqual(ended.snapshot.context.counts, { ...NO_TASKS, failed: 1, succeeded: 1, cancelled: 1 });
    assert.equal(ended.snapshot.context.error, null);
  });

  it('comes only with the last task', () => {
    const open = running(3);
    assert.deepEqual(open.sendAll(failed('x'), succeeded('task_2', 0.5)), []);
    assert.equal(open.state, 'running.computing');
  });
});

describe('the best task of a job', () => {
  const best = (mode: 'min' | 'max', ...values: (number | null)[]) => {
    const standings = [noStanding({ metric: 'best_rmse', mode })];
    const ranked = running(values.length + 1, { standings });
    ranked.sendAll(...values.map((value, i) => succeeded(`task_${i}`, value)));
    const { best_metric, best_task_id, best_model_artifact_id } = rankedBy(ranked.snapshot.context.standings);
    assert.equal(best_model_artifact_id, best_task_id && `model of ${best_task_id}`);
    return [best_metric, best_task_id];
  };

  it('is the one with the smallest value, or the largest, as the rank mode says', () => {
    assert.deepEqual(best('min', 0.5, 0.3, 0.4), [0.3, 'task_1']);
    assert.deepEqual(best('max', 0.5, 0.3, 0.9), [0.9, 'task_2']);
    assert.deepEqual(best('min', 0, -1), [-1, 'task_1']);
    assert.deepEqual(best('max', -1, 0), [0, 'task_1']);
  });

  it('is the first of equals', () => {
    assert.deepEqual(best('min', 0.3, 0.3), [0.3, 'task_0']);
    assert.deepEqual(best('max', 0.3, 0.3), [0.3, 'task_0']);
  });

  it('is never one without a value: such a task is unranked', () => {
    assert.deepEqual(best('min', null, null), [null, null]);
    assert.deepEqual(best('min', null, 7, null), [7, 'task_1']);
    assert.deepEqual(best('max', null, -7, null), [-7, 'task_1']);
    assert.deepEqual(best('min', 0, null), [0, 'task_0']);
  });

  it('does not exist before a task has succeeded', () => {
    const none = running(2);
    none.send(failed('x'));
    const { best_metric, best_task_id } = rankedBy(none.snapshot.context.standings);
    assert.deepEqual({ best_metric, best_task_id }, { best_metric: null, best_task_id: null });
  });
});

describe('a job that may rank by one of several metrics', () => {
  /** What each task has of the first and of the second. */
  const ranked = (...tasks: [number | null, number | null][]) => {
    const standings = [
      noStanding({ metric: 'best_rmse', mode: 'min' }),
      noStanding({ metric: 'cv_r2', mode: 'max' }),
    ];
    const job = running(tasks.length + 1, { standings });
    job.sendAll(...tasks.map(([first, second], i) => succeeded(`task_${i}`, first, [second])));
    const { rank_metric, rank_mode, best_metric, best_task_id } = rankedBy(job.snapshot.context.standings);
    return [rank_metric, rank_mode, best_metric, best_task_id];
  };

  it('ranks by the first that every succeeded task reports', () => {
    assert.deepEqual(ranked([0.5, 0.9], [0.4, 0.8]), ['best_rmse', 'min', 0.4, 'task_1']);
    assert.deepEqual(ranked([null, 0.7], [0.4, 0.8]), ['cv_r2', 'max', 0.8, 'task_1']);
    assert.deepEqual(ranked([0.4, 0.9], [null, 0.8]), ['cv_r2', 'max', 0.9, 'task_0']);
  });

  it('ranks, where none is reported by all, by the one that most report, of equals the first', () => {
    assert.deepEqual(ranked([0.5, null], [null, 0.8]), ['best_rmse', 'min', 0.5, 'task_0']);
    assert.deepEqual(ranked([0.5, null], [null, 0.8], [null, 0.9]), ['cv_r2', 'max', 0.9, 'task_2']);
    assert.deepEqual(ranked([null, 0.8], [0.5, null], [0.4, null]), ['best_rmse', 'min', 0.4, 'task_2']);
  });

  it('has no best, and names the first, while no task has reported any', () => {
    assert.deepEqual(ranked(), ['best_rmse', 'min', null, null]);
    assert.deepEqual(ranked([null, null]), ['best_rmse', 'min', null, null]);
  });

  it('counts further metrics as unreported where an earlier version did not keep them', () => {
    const standings = [
      noStanding({ metric: 'a', mode: 'min' }),
      noStanding({ metric: 'b', mode: 'min' }),
    ] as const;
    const job = running(2, { standings });
    job.send(succeeded('task_1', 1));
    assert.deepEqual(
      job.snapshot.context.standings.map(({ reported }) => reported),
      [1, 0],
    );
  });
});

describe('the messages of a task to its job', () => {
  const route = (from: TaskStatus, emission: TaskEmission) => jobEventFor(emission, { id: 'task_9', from });

  it('say which status it has now, and which it had before', () => {
    assert.deepEqual(route('queued', { type: 'task_leased' }), { type: 'TASK_LEASED', from: 'queued' });
    assert.deepEqual(route('leased', { type: 'task_started' }), { type: 'TASK_STARTED', from: 'leased' });
    const known = { rank_value: 0.5, rank_others: [null], model_artifact_id: 'art_1' };
    assert.deepEqual(route('running', { type: 'task_completed', metrics: '{}', ...known }), {
      type: 'TASK_SUCCEEDED',
      from: 'running',
      task_id: 'task_9',
      ...known,
    });
    const reused_from = { job_id: 'job_0', task_id: 'task_0' };
    assert.deepEqual(route('queued', { type: 'task_reused', metrics: '{}', reused_from, ...known }), {
      type: 'TASK_SUCCEEDED',
      from: 'queued',
      task_id: 'task_9',
      ...known,
    });
    assert.deepEqual(route('leased', { type: 'task_requeued', reason: 'lease_lapsed' }), {
      type: 'TASK_REQUEUED',
      from: 'leased',
    });
    assert.deepEqual(route('running', { type: 'task_cancelled' }), {
      type: 'TASK_CANCELLED',
      from: 'running',
    });
  });

  it('include a failure only when the task is not tried again; otherwise that it is queued again', () => {
    const failure = { type: 'task_failed', error: 'x', retriable: true, fault: 'task' } as const;
    assert.deepEqual(route('leased', { ...failure, requeued: false }), {
      type: 'TASK_FAILED',
      from: 'leased',
      error: 'x',
    });
    assert.equal(route('leased', { ...failure, requeued: true }), null);
  });

  it('include neither the expiry of its lease nor that it was lost, since it leaves that state at once', () => {
    assert.equal(route('queued', { type: 'lease_started', worker_id: 'worker_1' }), null);
    assert.equal(route('running', { type: 'lease_ended', worker_id: 'worker_1', why: 'expired' }), null);
    assert.equal(route('running', { type: 'stop_requested' }), null);
    assert.equal(route('running', { type: 'task_lost' }), null);
  });
});
