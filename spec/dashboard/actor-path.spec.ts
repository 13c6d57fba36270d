import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeMachine } from '../../gateway/contract/machine-views.ts';
import {
  CHOOSABLE,
  type Choosable,
  pathOf,
  stateAfter,
  travelled,
} from '../../gateway/ui/client/model/statecharts/past.ts';
import type { EventView } from '../../machines/schema/views.ts';

const events = (...types: (string | [string, EventView['data']])[]): EventView[] =>
  types.map((one, i) => {
    const [type, data] = typeof one === 'string' ? [one, {}] : one;
    const ids = { id: i + 1, job_id: 'j', task_id: 't', worker_id: null };
    return { ...ids, ts: i, level: 'info', type, message: '', data };
  });

/** The states of a path, `?` for what is not known. */
const told = (machine: Choosable, complete: boolean, ...types: Parameters<typeof events>) =>
  pathOf(machine, events(...types), complete).map(({ from, to }) => `${from ?? '?'} → ${to}`);

describe('the path of an actor, as its events show it', () => {
  it('leads a task from lease to end, with each failure that is tried again once', () => {
    const path = told(
      'task',
      true,
      'task_leased',
      'task_started',
      'log',
      ['task_failed', { requeued: true }],
      'task_requeued',
      'task_leased',
      'task_lost',
      ['task_failed', { requeued: false }],
      'task_requeued',
      'task_leased',
      'task_started',
      'task_completed',
    );
    assert.deepEqual(path, [
      'task.queued → task.leased',
      'task.leased → task.running.executing',
      'task.running.executing → task.queued',
      'task.queued → task.leased',
      'task.leased → task.lost',
      'task.lost → task.failed',
      'task.failed → task.queued',
      'task.queued → task.leased',
      'task.leased → task.running.executing',
      'task.running.executing → task.succeeded',
    ]);
  });

  it('begins with an unknown state where earlier events have not been read', () => {
    assert.deepEqual(told('task', false, 'task_cancelled'), ['? → task.cancelled']);
  });

  it('leads a job from submission to its end', () => {
    const begun = ['job_cancel_requested', { status: 'running' }] as [string, EventView['data']];
    const queued = ['job_cancel_requested', { status: 'queued' }] as [string, EventView['data']];
    assert.deepEqual(told('job', true, 'job_submitted', 'job_running', begun, 'job_cancelled'), [
      '? → job.queued.ready',
      'job.queued.ready → job.running.computing',
      'job.running.computing → job.cancelling',
      'job.cancelling → job.cancelled',
    ]);
    assert.deepEqual(told('job', true, 'job_submitted', queued, 'job_cancelled').slice(1), [
      'job.queued.ready → job.cancelling',
      'job.cancelling → job.cancelled',
    ]);
    assert.deepEqual(
      told('job', false, 'job_failed', 'job_retried').at(-1),
      'job.failed → job.queued.requeuing',
    );
  });

  it('leads a job that selects through its phases', () => {
    const inPhase = (type: string, phase?: string) =>
      [type, phase ? { phase } : {}] as [string, EventView['data']];
    const path = told(
      'job',
      true,
      'job_submitted',
      inPhase('job_running', 'expanding'),
      inPhase('variants_found', 'exploring'),
      inPhase('variant_selected', 'exploring'),
      inPhase('variant_selected', 'refitting'),
      'job_succeeded',
    );
    assert.deepEqual([...new Set(path)].slice(1), [
      'job.queued.ready → job.running.expanding',
      'job.running.expanding → job.running.exploring',
      'job.running.exploring → job.running.exploring',
      'job.running.exploring → job.running.refitting',
      'job.running.refitting → job.succeeded',
    ]);
    assert.deepEqual(told('job', false, inPhase('variant_selected')), []);
    assert.deepEqual(told('job', false, inPhase('job_running', 'toString')), ['? → job.running.computing']);
  });

  it('leads a worker from alive to dead and back', () => {
    assert.deepEqual(told('worker', true, 'worker_registered', 'worker_dead', 'worker_alive'), [
      '? → worker.alive',
      'worker.alive → worker.dead',
      'worker.dead → worker.alive',
    ]);
  });

  it('holds only states that the machines have, and ignores events with unknown words', () => {
    const types = 'job_submitted job_running job_succeeded job_failed job_cancelled job_retried'
      .split(' ')
      .concat(['task_leased', 'task_started', 'task_completed', 'task_failed', 'task_lost', 'task_requeued'])
      .concat(['task_cancelled', 'worker_registered', 'worker_alive', 'worker_dead']);
    for (const machine of CHOOSABLE) {
      const known = describeMachine(machine).chart.states.map(({ id }) => id);
      const reached = types
        .map((type) => stateAfter(machine, { type, data: {} }))
        .filter((to) => to !== null);
      assert.ok(reached.length >= 3);
      for (const to of reached) assert.ok(known.includes(to), to);
      for (const type of ['constructor', 'toString', '__proto__', '']) {
        assert.equal(stateAfter(machine, { type, data: {} }), null);
      }
    }
  });

  it('follows the arrows between its states, and those around or within them', () => {
    const path = pathOf('task', events('task_leased', 'task_started', 'task_completed'), true);
    const goes = (from: string, to: string) => travelled(path, { from, to, event: 'ANY' });
    assert.ok(goes('task.queued', 'task.leased'));
    assert.ok(goes('task.leased', 'task.running'));
    assert.ok(goes('task.running.executing', 'task.succeeded'));
    assert.ok(!goes('task.running.stopping', 'task.succeeded'));
    assert.ok(!goes('task.leased', 'task.queued'));
    assert.ok(!goes('task.queued', 'task.running'));
  });

  it('follows of several arrows between the same states the one of the event that is known', () => {
    const path = [{ from: 'worker.alive.busy', to: 'worker.alive.idle', by: ['TASK_RELEASED'] }];
    const goes = (from: string, event: string) => travelled(path, { from, to: 'worker.alive.idle', event });
    assert.ok(goes('worker.alive.busy', 'TASK_RELEASED'));
    assert.ok(!goes('worker.alive', 'REGISTER'));
  });
});
