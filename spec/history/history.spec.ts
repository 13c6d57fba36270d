import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Happening, History } from './history.ts';
import { compareCounts, type JobRow, Rows, type TaskRow } from './rows.ts';

type Told = [type: string, data?: Record<string, unknown>, worker?: string];

/** Events of one job with one task, in short form. */
function told(...lines: Told[]): Happening[] {
  return lines.map(([type, data = {}, worker = 'worker_a'], i) => ({
    id: i + 1,
    type,
    job_id: type.startsWith('worker_') ? null : 'job_1',
    task_id: type.startsWith('task_') ? 'task_1' : null,
    worker_id: worker,
    data: { attempt: 1, ...data } as Happening['data'],
  }));
}

const SUBMITTED: Told[] = [['job_submitted', { num_tasks: 1 }]];
const LEASED: Told[] = [...SUBMITTED, ['task_leased'], ['job_running']];
const RUNNING: Told[] = [...LEASED, ['task_started']];
const DONE: Told[] = [...RUNNING, ['task_completed'], ['job_succeeded']];
const LOST: Told[] = [...RUNNING, ['task_lost'], ['task_requeued', { reason: 'lease_lapsed' }]];

describe('the history that all long tests check a server against', () => {
  const followed: Record<string, Told[]> = {
    'a run to its end': DONE,
    'a lost lease and a second one': [...LOST, ['task_leased', { attempt: 2 }, 'worker_b']],
    'an answer that never arrived, whose attempt is leased again': [
      ...LEASED,
      ['task_requeued', { reason: 'undelivered' }],
      ['task_leased'],
    ],
    'a failure, and a retry of the job': [
      ...RUNNING,
      ['task_failed', { requeued: false }],
      ['job_failed'],
      ['job_retried'],
      ['task_requeued', { reason: 'retry' }],
      ['task_leased', { attempt: 2 }],
    ],
    'a cancellation while it runs': [
      ...RUNNING,
      ['job_cancel_requested'],
      ['task_cancelled'],
      ['job_cancelled'],
    ],
    'a drain that ends with the last task': [
      ...RUNNING,
      ['worker_drain_ordered'],
      ['worker_drained'],
      ['task_completed'],
    ],
    'a pause that is lifted': [
      ...SUBMITTED,
      ['queue_paused', { kind: 'all' }],
      ['queue_resumed', { kind: 'all' }],
      ['task_leased'],
    ],
    'another priority of a job that runs, and another name of one that has ended': [
      ...RUNNING,
      ['job_changed', { priority: 5 }],
      ['task_completed'],
      ['job_succeeded'],
      ['job_changed', { name: 'corn' }],
    ],
    'the deletion of a job that has ended': [...DONE, ['job_deleted']],
  };
  for (const [what, lines] of Object.entries(followed)) {
    test(`follows ${what}`, () => new History().take(told(...lines)));
  }

  const refused: Record<string, Told[]> = {
    'a job that is submitted twice': [...SUBMITTED, ...SUBMITTED],
    'a lease while the queue is paused': [...SUBMITTED, ['queue_paused', { kind: 'all' }], ['task_leased']],
    'a lease of a worker that is drained': [...SUBMITTED, ['worker_drain_ordered'], ['task_leased']],
    'a drain that ends while the worker has a task': [
      ...RUNNING,
      ['worker_drain_ordered'],
      ['worker_drained'],
      ['worker_alive'],
    ],
    'a priority of a job that has ended': [...DONE, ['job_changed', { priority: 5 }]],
    'a second holder': [...LEASED, ['task_leased', { attempt: 2 }, 'worker_b']],
    'an attempt that is skipped': [...LOST, ['task_leased', { attempt: 3 }]],
    'an attempt that is leased again after it was lost': [...LOST, ['task_leased']],
    'a start by another worker': [...LEASED, ['task_started', {}, 'worker_b']],
    'a result of another worker': [...RUNNING, ['task_completed', {}, 'worker_b']],
    'a result of an older attempt': [
      ...LOST,
      ['task_leased', { attempt: 2 }],
      ['task_started', { attempt: 2 }],
      ['task_completed'],
    ],
    'a result before the start': [...LEASED, ['task_completed']],
    'a second result': [...RUNNING, ['task_completed'], ['task_completed']],
    'a lease of a job that is being cancelled': [...SUBMITTED, ['job_cancel_requested'], ['task_leased']],
    'a cancellation without a request': [...RUNNING, ['task_cancelled']],
    'a loss of a task that no worker holds': [...SUBMITTED, ['task_lost']],
    'a job that ends before its tasks': [...RUNNING, ['job_succeeded']],
    'a job that is deleted before its end': [...RUNNING, ['job_deleted']],
    'anything of a job that was deleted': [...DONE, ['job_deleted'], ['job_retried']],
    'a job that comes back': [...DONE, ['job_deleted'], ...SUBMITTED],
    'a job that ends twice': [...DONE, ['job_succeeded']],
    'a retry of a job that is running': [...RUNNING, ['job_retried']],
    'a reused result of a task without one': [
      ...SUBMITTED,
      ['task_reused', { reused_from: { task_id: 'task_1' } }],
    ],
  };
  for (const [what, lines] of Object.entries(refused)) {
    test(`refuses ${what}`, () => {
      const [last, ...before] = told(...lines).reverse();
      const history = new History();
      history.take(before.reverse());
      assert.throws(() => history.take([last as Happening]));
    });
  }

  test('refuses an event that is missing, and one that comes twice', () => {
    for (const id of [1, 3]) {
      const history = new History();
      history.take(told(...SUBMITTED));
      assert.throws(() => history.take([{ ...(told(['task_leased'])[0] as Happening), id }]));
    }
  });

  describe('refuses rows', () => {
    const task: TaskRow = {
      ...{ id: 'task_1', status: 'succeeded', attempt: 1, worker: null, leaseEnds: null },
      ...{ result: '{"a":1}', reusedFrom: null },
    };
    const counts = { queued: 0, running: 0, succeeded: 1, failed: 0, cancelled: 0 };
    const row: JobRow = { id: 'job_1', status: 'succeeded', counts, tasks: [task] };
    const rows = (lines = DONE) => {
      const history = new History();
      history.take(told(...lines));
      return new Rows(history);
    };
    test('but not those that agree with the events', () => rows().compareJob(row, null));

    const wrong: Record<string, JobRow> = {
      'of a job without events': { ...row, id: 'job_2' },
      'of a job in another status': { ...row, status: 'running' },
      'of a job without its tasks': { ...row, tasks: [] },
      'whose counts are not the tasks': { ...row, counts: { ...counts, succeeded: 0 } },
      'of a task in another status': { ...row, tasks: [{ ...task, status: 'failed', result: null }] },
      'of a task at another attempt': { ...row, tasks: [{ ...task, attempt: 2 }] },
      'of a success without a result': { ...row, tasks: [{ ...task, result: null }] },
      'of a result that is reused from another task than the events say': {
        ...row,
        tasks: [{ ...task, reusedFrom: 'task_2' }],
      },
    };
    for (const [what, bad] of Object.entries(wrong)) {
      test(what, () => assert.throws(() => rows().compareJob(bad, null)));
    }

    test('with a result that has changed', () => {
      const seen = rows();
      seen.compareJob(row, null);
      assert.throws(() => seen.compareJob({ ...row, tasks: [{ ...task, result: '{"a":2}' }] }, null));
    });

    test('with a lease of another worker, or one that is over', () => {
      const held: TaskRow = { ...task, status: 'running', worker: 'worker_a', leaseEnds: 10, result: null };
      const running = { ...row, status: 'running', counts: { ...counts, running: 1, succeeded: 0 } };
      const look = (change: Partial<TaskRow>, now: number | null) =>
        rows(RUNNING).compareJob({ ...running, tasks: [{ ...held, ...change }] }, now);
      look({}, 9);
      look({}, null);
      // The server says when it ends in whole milliseconds, and goes by its clock.
      look({}, 10.0005);
      for (const over of [10.002, 11]) assert.throws(() => look({}, over));
      assert.throws(() => look({ worker: 'worker_b' }, 9));
    });
  });

  test('refuses counts that do not agree with the events', () => {
    const history = new History();
    history.take(told(...DONE));
    compareCounts('jobs', { succeeded: 1 }, history.jobCounts);
    assert.throws(() => compareCounts('jobs', { succeeded: 2 }, history.jobCounts));
    assert.throws(() => compareCounts('jobs', {}, history.jobCounts));
  });
});
