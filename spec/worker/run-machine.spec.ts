import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Actor, createActor, fromPromise, SimulatedClock } from 'xstate';
import {
  type AttemptInput,
  attemptMachine,
  GIVEN_BACK,
  type Lease,
  type Outcome,
} from '../../machines/attempt/attempt.ts';
import { until } from '../support/until.ts';

const REF = { task_id: 'task_1', attempt: 1, worker_id: 'worker_1' };
const LEASE = { ref: REF, payload: { timeout_seconds: 30 }, text: '{}' } as unknown as Lease;
const DONE: Outcome = { verb: 'complete', result: { status: 'succeeded' } };
const failedWith = (error: string): Outcome & { verb: 'fail' } => ({ verb: 'fail', failure: { error } });
const STEPS = [
  'reportStart',
  'materialize',
  'deadline',
  'runChild',
  'stopWork',
  'save',
  'upload',
  'report',
  'clean',
] as const;
type Step = (typeof STEPS)[number];

/** The statechart with steps that end when the test says so; `begun` tells which have begun, and with what. */
class Run {
  readonly begun: Step[] = [];
  readonly inputs = new Map<Step, unknown>();
  readonly aborted: Step[] = [];
  readonly actor: Actor<typeof attemptMachine>;
  readonly clock = new SimulatedClock();
  readonly #ends = new Map<Step, { resolve(value: unknown): void; reject(fault: Error): void }>();

  constructor(input: AttemptInput = { kind: 'leased', lease: LEASE }) {
    const actors = Object.fromEntries(STEPS.map((step) => [step, this.#step(step)]));
    this.actor = createActor(
      attemptMachine.provide({ actors } as Parameters<typeof attemptMachine.provide>[0]),
      { input, clock: this.clock },
    );
    this.actor.start();
  }

  #step(step: Step) {
    return fromPromise(({ input, signal }) => {
      this.begun.push(step);
      this.inputs.set(step, input);
      signal.addEventListener('abort', () => this.aborted.push(step));
      return new Promise((resolve, reject) => this.#ends.set(step, { resolve, reject }));
    });
  }

  async ends(step: Step, value?: unknown): Promise<void> {
    await until(`${step} to begin`, () => this.begun.includes(step));
    this.#ends.get(step)?.resolve(value);
    await new Promise((resolve) => setImmediate(resolve));
  }

  async breaks(step: Step, message: string): Promise<void> {
    this.#ends.get(step)?.reject(new Error(message));
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** As far as the child, which then runs. */
  async toChild(): Promise<this> {
    await this.ends('reportStart', 'accepted');
    await this.ends('materialize', null);
    return this;
  }

  /** As far as the upload of what the child made. */
  async toUpload(): Promise<this> {
    await this.toChild();
    await this.ends('runChild', DONE);
    await this.ends('save');
    return this;
  }

  /** Saves its outcome, and uploads what there is. */
  async uploads(): Promise<void> {
    await this.ends('save');
    await this.ends('upload', { verdict: 'accepted', artifacts: {} });
  }

  get state() {
    return JSON.stringify(this.actor.getSnapshot().value).replaceAll('"', '');
  }

  /** What is reported in the end. */
  get reported(): Outcome {
    return (this.inputs.get('report') as { outcome: Outcome }).outcome;
  }
}

describe('one attempt at a task', () => {
  it('reports start, places inputs, runs, saves, uploads, reports and cleans up, in this order', async () => {
    const run = await new Run().toUpload();
    await run.ends('upload', { verdict: 'accepted', artifacts: { model: 'art_1' } });
    await run.ends('report', 'accepted');
    await run.ends('clean');
    const order = run.begun.filter((step) => step !== 'deadline');
    assert.deepEqual(order, ['reportStart', 'materialize', 'runChild', 'save', 'upload', 'report', 'clean']);
    assert.deepEqual(run.inputs.get('report'), { ref: REF, outcome: DONE, artifacts: { model: 'art_1' } });
    assert.deepEqual(run.actor.getSnapshot().output, { ref: REF, ended: 'reported', health: { well: true } });
  });

  const healths: [string, Outcome, unknown][] = [
    ['a fault of the worker itself', { ...failedWith('full'), own: true }, { well: false, why: 'full' }],
    ['a failure of the task', failedWith('bad shape'), null],
  ];
  for (const [what, outcome, health] of healths) {
    it(`reports the health of the worker after ${what}: ${JSON.stringify(health)}`, async () => {
      const run = await new Run().toChild();
      await run.ends('runChild', outcome);
      await run.uploads();
      await run.ends('report', 'accepted');
      await run.ends('clean');
      assert.deepEqual(run.actor.getSnapshot().output?.health, health);
    });
  }

  it('waits at most a minute for work that hangs in the kernel', async () => {
    const run = await new Run().toChild();
    run.actor.send({ type: 'STOP', reason: 'cancelled' });
    assert.equal(run.state, 'cancelling');
    run.clock.increment(60_000);
    assert.equal(run.state, 'saving');
    assert.ok(run.begun.includes('save'));
  });

  it('places nothing before the server has taken the start report', async () => {
    const run = new Run();
    assert.deepEqual(run.begun, ['reportStart']);
    assert.equal(run.state, 'starting');
  });

  it('does nothing for a task that is not its own any more', async () => {
    const run = new Run();
    await run.ends('reportStart', 'not_ours');
    await run.ends('clean');
    assert.deepEqual(run.begun, ['reportStart', 'clean']);
    assert.equal(run.actor.getSnapshot().output?.ended, 'not_ours');
  });

  it('reports an input fault without running anything', async () => {
    const run = new Run();
    const failed = { verb: 'fail', failure: { error: 'no such file', retriable: false, fault: 'input' } };
    await run.ends('reportStart', 'accepted');
    await run.ends('materialize', failed);
    await run.uploads();
    assert.ok(!run.begun.includes('runChild'));
    assert.deepEqual(run.reported, failed);
  });

  it('reports at once that it has no place to work in, without running anything', async () => {
    const run = new Run();
    const failed = { verb: 'fail', failure: { error: 'the disk is full', fault: 'worker' }, own: true };
    await run.ends('reportStart', failed);
    await run.uploads();
    assert.ok(!run.begun.includes('materialize'));
    assert.deepEqual(run.reported, failed);
  });

  it('reports a fault of this machine as a failure that is tried again', async () => {
    const run = await new Run().toChild();
    await run.breaks('runChild', 'spawn ENOENT');
    await run.uploads();
    assert.deepEqual(run.reported, { verb: 'fail', failure: { error: 'spawn ENOENT', retriable: true } });
  });

  for (const [reason, failure] of [
    ['cancelled', { error: 'cancelled', retriable: false }],
    ['preempted', GIVEN_BACK],
  ] as const) {
    it(`${reason}: ends the child first, and reports only when nothing runs any more`, async () => {
      const run = await new Run().toChild();
      run.actor.send({ type: 'STOP', reason });
      assert.equal(run.state, 'cancelling');
      assert.ok(run.aborted.includes('runChild'), 'the child is told to end');
      assert.ok(!run.begun.includes('save'));
      await run.ends('stopWork');
      await run.uploads();
      assert.deepEqual(run.reported, { verb: 'fail', failure });
    });
  }

  it('times out as its deadline passes, while inputs are placed too', async () => {
    const run = new Run();
    await run.ends('reportStart', 'accepted');
    assert.equal(run.inputs.get('deadline'), 30);
    await run.ends('deadline');
    assert.ok(run.aborted.includes('materialize'));
    await run.ends('stopWork');
    await run.uploads();
    const failure = { error: 'timed out after 30 s', retriable: true };
    assert.deepEqual(run.reported, { verb: 'fail', failure });
  });

  it('has no deadline once the analysis is done: uploads may take their time', async () => {
    const run = await new Run().toChild();
    await run.ends('runChild', DONE);
    assert.ok(run.aborted.includes('deadline'));
  });

  it('stops uploading for a job that was cancelled meanwhile, and reports that', async () => {
    const run = await new Run().toUpload();
    run.actor.send({ type: 'STOP', reason: 'cancelled' });
    assert.equal(run.state, 'reporting');
    assert.ok(run.aborted.includes('upload'));
    assert.equal(run.reported.verb, 'fail');
  });

  it('goes on delivering a finished result while the worker stops', async () => {
    const run = await new Run().toUpload();
    run.actor.send({ type: 'STOP', reason: 'preempted' });
    assert.equal(run.state, 'uploading');
    await run.ends('upload', { verdict: 'accepted', artifacts: {} });
    assert.deepEqual(run.reported, DONE);
  });

  it('still uploads the log of a task that was cancelled while it ran', async () => {
    const run = await new Run().toChild();
    run.actor.send({ type: 'STOP', reason: 'cancelled' });
    await run.ends('stopWork');
    await run.ends('save');
    run.actor.send({ type: 'STOP', reason: 'cancelled' });
    assert.equal(run.state, 'uploading');
  });

  it('delivers what cannot be saved', async () => {
    const run = await new Run().toChild();
    await run.ends('runChild', DONE);
    await run.breaks('save', 'ENOSPC');
    assert.equal(run.state, 'uploading');
  });

  it('drops a result that the server refuses, and cleans up', async () => {
    const run = await new Run().toUpload();
    await run.ends('upload', { verdict: 'not_ours', artifacts: {} });
    await run.ends('clean');
    assert.ok(!run.begun.includes('report'));
    assert.equal(run.actor.getSnapshot().output?.ended, 'not_ours');
  });

  it('is deferred when its result cannot be delivered: that stays on disk', async () => {
    const run = await new Run().toUpload();
    run.actor.send({ type: 'DEFER' });
    assert.equal(run.actor.getSnapshot().output?.ended, 'deferred');
    assert.ok(!run.begun.includes('clean'));
  });

  it('is deferred as well when its report cannot be delivered', async () => {
    const run = await new Run().toUpload();
    await run.ends('upload', { verdict: 'accepted', artifacts: {} });
    await run.breaks('report', 'the worker stops');
    assert.equal(run.actor.getSnapshot().output?.ended, 'deferred');
    assert.ok(!run.begun.includes('clean'));
  });

  it('is deferred only after the child has ended and the outcome is saved', async () => {
    const run = await new Run().toChild();
    run.actor.send({ type: 'STOP', reason: 'preempted' });
    run.actor.send({ type: 'DEFER' });
    await run.ends('stopWork');
    assert.equal(run.state, 'saving');
    await run.ends('save');
    assert.equal(run.actor.getSnapshot().output?.ended, 'deferred');
  });

  it('begins a saved result with its delivery', async () => {
    const run = new Run({ kind: 'saved', ref: REF, outcome: DONE });
    await run.ends('upload', { verdict: 'accepted', artifacts: {} });
    await run.ends('report', 'accepted');
    assert.deepEqual(run.begun, ['upload', 'report', 'clean']);
    assert.deepEqual(run.reported, DONE);
  });
});
