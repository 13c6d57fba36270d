import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type JobEvent, jobMachine } from '../../machines/job/job.ts';
import { newSelection, type TaskPlace } from '../../machines/job/selection.ts';
import { noStanding, rankedBy } from '../../machines/ranking/standing.ts';
import { Driven } from './drive.ts';
import { jobContext, succeeded } from './samples.ts';

const METRICS = [
  { metric: 'cv_rmse', mode: 'min' },
  { metric: 'cv_accuracy', mode: 'max' },
] as const;

/** A job of so many variants on each of its datasets, all of which a worker runs. */
function exploring(variants: number, { datasets = ['corn'], refit = true } = {}) {
  const selection = newSelection(datasets, METRICS, { refit, variants });
  const standings = METRICS.map(noStanding);
  const context = jobContext({ running: variants * datasets.length }, { selection, standings });
  return new Driven(jobMachine, 'running.exploring', context);
}

const place = (pipeline: number, dataset = 0, role: TaskPlace['role'] = 'variant') => ({
  place: { pipeline, dataset, role } as TaskPlace,
});

const scored = (pipeline: number, value: number | null, others: (number | null)[] = [null], dataset = 0) =>
  ({ ...succeeded(`task_${dataset}_${pipeline}`, value, others), ...place(pipeline, dataset) }) as JobEvent;
const failed = (pipeline: number, dataset = 0): JobEvent => ({
  ...{ type: 'TASK_FAILED', from: 'running', error: 'it broke' },
  ...place(pipeline, dataset),
});
const refitted = (pipeline: number, dataset = 0, task_id = 'task_r') =>
  ({ ...succeeded(task_id, 99), ...place(pipeline, dataset, 'refit') }) as JobEvent;
const refitFailed = (pipeline: number): JobEvent => ({
  ...{ type: 'TASK_FAILED', from: 'running', error: 'no refit' },
  ...place(pipeline, 0, 'refit'),
});
const added = (dataset = 0, task_id = 'task_r'): JobEvent => ({ type: 'REFIT_ADDED', dataset, task_id });
const back = (pipeline: number, role: TaskPlace['role'] = 'variant'): JobEvent => ({
  ...{ type: 'TASK_REQUEUED', from: 'failed' },
  ...place(pipeline, 0, role),
});
/** A task that was queued is at work. */
const leased: JobEvent = { type: 'TASK_LEASED', from: 'queued' };
const started: JobEvent = { type: 'TASK_STARTED', from: 'leased' };
const begin: JobEvent[] = [leased, started];

const choiceOf = (job: ReturnType<typeof exploring>, dataset = 0) =>
  job.snapshot.context.selection?.datasets[dataset]?.choice;
const types = (emitted: { type: string }[]) => emitted.map(({ type }) => type);

describe('a job that selects', () => {
  it('selects the best as soon as all variants of a dataset have ended, and goes on until it is refitted', () => {
    const job = exploring(3);
    assert.deepEqual(job.sendAll(scored(0, 0.3), scored(1, 0.2)), []);
    assert.equal(job.state, 'running.exploring');
    const choice = {
      ...{ task_id: 'task_0_1', pipeline: 1, metric: 'cv_rmse', mode: 'min', value: 0.2 },
      ...{ refit: 'wanted', refit_task_id: null },
    };
    assert.deepEqual(job.send(scored(2, 0.4)), [{ type: 'variant_selected', dataset: 0, choice }]);
    assert.equal(job.state, 'running.refitting');
    job.sendAll(added(), ...begin);
    assert.equal(job.snapshot.context.num_tasks, 4);
    assert.deepEqual(types(job.send(refitted(1))), ['job_succeeded']);
    assert.equal(job.state, 'succeeded');
    const { best_task_id, best_metric, best_model_artifact_id } = rankedBy(job.snapshot.context.standings);
    // What refits a variant stands in its place, with the value that it was selected by.
    assert.deepEqual([best_task_id, best_metric, best_model_artifact_id], ['task_r', 0.2, 'model of task_r']);
  });

  it('selects among equals the first by its place, whichever ended first', () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0],
    ]) {
      const job = exploring(3);
      job.sendAll(...order.map((pipeline) => scored(pipeline, pipeline === 0 ? 0.5 : 0.2)));
      assert.equal(choiceOf(job)?.pipeline, 1, order.join());
    }
  });

  it('selects by the first metric that all report, by the largest value where larger is better', () => {
    const job = exploring(2);
    job.sendAll(scored(0, 0.1, [0.7]), scored(1, null, [0.8]));
    assert.deepEqual(
      [choiceOf(job)?.metric, choiceOf(job)?.value, choiceOf(job)?.pipeline],
      ['cv_accuracy', 0.8, 1],
    );
  });

  it('selects among those that succeeded', () => {
    const job = exploring(3);
    job.sendAll(failed(0), scored(1, 0.9));
    assert.deepEqual(types(job.send(failed(2))), ['variant_selected']);
    assert.equal(choiceOf(job)?.pipeline, 1);
  });

  it('fails with a sentence where all failed, or none reported a number', () => {
    const none = exploring(2);
    assert.deepEqual(types(none.sendAll(failed(0), failed(1))), ['selection_failed', 'job_failed']);
    assert.equal(
      none.snapshot.context.error,
      'none of the variants succeeded, so that none can be selected: it broke',
    );
    const unsaid = exploring(2);
    assert.deepEqual(types(unsaid.sendAll(scored(0, null), failed(1))), ['selection_failed', 'job_failed']);
    assert.equal(
      unsaid.snapshot.context.error,
      "none of the variants reported a number for 'cv_rmse' or 'cv_accuracy', by which the best is selected",
    );
  });

  it('ends with its variants where no refit is asked for', () => {
    const job = exploring(2, { refit: false });
    const told = job.sendAll(scored(0, 0.3), scored(1, 0.2));
    assert.deepEqual(types(told), ['variant_selected', 'job_succeeded']);
    assert.equal(choiceOf(job)?.refit, 'none');
  });

  it('selects on each dataset by itself, and succeeds where one of them came to its end', () => {
    const job = exploring(1, { datasets: ['corn', 'wheat'] });
    assert.deepEqual(types(job.send(scored(0, 0.3))), ['variant_selected']);
    assert.equal(job.state, 'running.exploring', 'the other one goes on');
    job.sendAll(added(), ...begin, refitted(0));
    assert.deepEqual(types(job.send(failed(0, 1))), ['selection_failed', 'job_succeeded']);
    const [corn, wheat] = job.snapshot.context.selection?.datasets ?? [];
    assert.equal(corn?.choice?.refit, 'succeeded');
    assert.equal(wheat?.error, 'none of the variants on wheat succeeded, so that none can be selected');
  });

  it('fails with the error of its refit, which can be tried again', () => {
    const job = exploring(1);
    job.sendAll(scored(0, 0.3), added(), ...begin);
    assert.deepEqual(types(job.send(refitFailed(0))), ['job_failed']);
    assert.equal(job.snapshot.context.error, 'no refit');
    job.sendAll({ type: 'RETRY' }, back(0, 'refit'), { type: 'BULK_DONE' });
    assert.equal(job.state, 'queued.ready');
    job.send(leased);
    assert.equal(job.state, 'running.refitting');
    assert.deepEqual(types(job.sendAll(started, refitted(0))), ['job_succeeded']);
  });

  for (const [value, then] of [
    [0.9, 'keeps what it refitted where another is no better'],
    [0.1, 'refits another one that is better'],
  ] as const) {
    it(`that has ended selects anew when a failed variant is tried again, and ${then}`, () => {
      const job = exploring(2);
      job.sendAll(scored(0, 0.3), failed(1), added(), ...begin, refitted(0));
      assert.equal(job.state, 'succeeded');
      job.sendAll({ type: 'RETRY' }, back(1), { type: 'BULK_DONE' }, leased);
      assert.equal(job.state, 'running.exploring');
      const told = types(job.sendAll(started, scored(1, value)));
      if (value === 0.9) {
        assert.deepEqual(told, ['variant_selected', 'job_succeeded']);
        assert.equal(choiceOf(job)?.refit_task_id, 'task_r');
        return;
      }
      assert.deepEqual(told, ['variant_selected']);
      assert.equal(job.state, 'running.refitting');
      job.sendAll(added(0, 'task_s'), ...begin, refitted(1, 0, 'task_s'));
      assert.equal(job.state, 'succeeded');
      assert.equal(rankedBy(job.snapshot.context.standings).best_task_id, 'task_s');
    });
  }

  it('selects nothing any more once it is cancelled, in whichever phase', () => {
    const early = exploring(1);
    const cancelled: JobEvent = { type: 'TASK_CANCELLED', from: 'running' };
    const told = early.sendAll({ type: 'CANCEL' }, { type: 'BULK_DONE' }, cancelled);
    assert.deepEqual(types(told), ['job_cancelled']);
    const late = exploring(1);
    late.sendAll(scored(0, 0.3), added(), ...begin);
    const end = late.sendAll({ type: 'CANCEL' }, { type: 'BULK_DONE' }, cancelled);
    assert.deepEqual(types(end), ['job_cancelled']);
    const between = exploring(1);
    between.send(scored(0, 0.3));
    assert.deepEqual(types(between.sendAll({ type: 'CANCEL' }, { type: 'BULK_DONE' })), ['job_cancelled']);
  });

  it('finds its variants first, where one pipeline holds them', () => {
    const selection = newSelection(['corn', 'wheat'], METRICS, { refit: true, variants: null });
    const context = jobContext({ queued: 1 }, { selection, standings: METRICS.map(noStanding) });
    const job = new Driven(jobMachine, 'queued.ready', context);
    job.sendAll(...begin);
    assert.equal(job.state, 'running.expanding');
    job.send({ ...succeeded('task_x', 0.1), ...place(0, 0, 'expansion') } as JobEvent);
    assert.equal(job.state, 'running.expanding');
    assert.equal(rankedBy(job.snapshot.context.standings).best_task_id, null, 'to list is no result');
    const told = job.send({ type: 'VARIANTS_ADDED', variants: 3, reuse: false });
    assert.deepEqual(told, [{ type: 'variants_found', variants: 3 }]);
    assert.equal(job.state, 'running.exploring');
    const { num_tasks, counts, selection: now } = job.snapshot.context;
    assert.deepEqual([num_tasks, counts.queued, counts.succeeded], [7, 6, 1]);
    assert.deepEqual(
      now?.datasets.map(({ left }) => left),
      [3, 3],
    );
  });
});
