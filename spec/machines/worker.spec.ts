import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { supervisorMachine } from '../../machines/supervisor.ts';
import { workerMachine } from '../../machines/worker/worker.ts';
import { Driven } from './drive.ts';
import { workerContext } from './samples.ts';

const worker = (state: string, used: number, total: number) =>
  new Driven(workerMachine, state, workerContext(used, total));

describe('the slots of a worker', () => {
  it('are taken and freed one by one, and the state says whether there is room', () => {
    const three = worker('alive.idle', 0, 3);
    const seen = [three.state];
    for (const type of ['TASK_TAKEN', 'TASK_RELEASED'] as const) {
      for (let n = 0; n < 3; n++) {
        three.send({ type });
        seen.push(`${three.state} ${three.snapshot.context.slots_used}`);
      }
    }
    assert.deepEqual(seen, [
      ...['alive.idle', 'alive.busy 1', 'alive.busy 2', 'alive.full 3'],
      ...['alive.busy 2', 'alive.busy 1', 'alive.idle 0'],
    ]);
  });

  it('can be one: then it is idle or full', () => {
    const one = worker('alive.idle', 0, 1);
    one.send({ type: 'TASK_TAKEN' });
    assert.equal(one.state, 'alive.full');
    one.send({ type: 'TASK_RELEASED' });
    assert.equal(one.state, 'alive.idle');
  });

  it('may become fewer than are taken when it registers anew: it takes nothing until enough are free', () => {
    const shrunk = worker('alive.busy', 2, 3);
    shrunk.send({ type: 'REGISTER', slots_total: 1 });
    assert.deepEqual(shrunk.snapshot.context, workerContext(2, 1));
    shrunk.send({ type: 'TASK_RELEASED' });
    assert.equal(shrunk.state, 'alive.full');
    assert.equal(shrunk.snapshot.can({ type: 'TASK_TAKEN' }), false);
    shrunk.send({ type: 'TASK_RELEASED' });
    assert.equal(shrunk.state, 'alive.idle');
  });

  it('may become more: a full worker has room at once', () => {
    const grown = worker('alive.full', 1, 1);
    grown.send({ type: 'REGISTER', slots_total: 2 });
    assert.equal(grown.state, 'alive.busy');
  });

  it('stay taken while it is dead, and are freed when its tasks end or their leases expire', () => {
    const silent = worker('alive.full', 2, 2);
    silent.send({ type: 'HEARTBEAT_MISSED' });
    silent.send({ type: 'TASK_RELEASED' });
    assert.equal(silent.state, 'dead');
    silent.send({ type: 'HEARTBEAT' });
    assert.equal(silent.state, 'alive.busy');
    assert.deepEqual(silent.snapshot.context, workerContext(1, 2));
  });
});

describe('a worker that is suspended', () => {
  const ill = { type: 'SUSPEND', reason: 'its disk is full' } as const;

  it('is reported once, even when its reason changes, and once when it asks for tasks again', () => {
    const one = worker('alive.busy', 1, 2);
    assert.deepEqual(one.send(ill), [
      { type: 'worker_suspended', reason: 'its disk is full' },
      { type: 'polling_ended' },
    ]);
    assert.deepEqual(one.send(ill), []);
    assert.deepEqual(one.send({ type: 'SUSPEND', reason: 'its interpreter is gone' }), [
      { type: 'polling_ended' },
    ]);
    assert.equal(one.snapshot.context.suspended, 'its interpreter is gone');
    assert.equal(one.state, 'alive.busy', 'and goes on with what it has');
    assert.deepEqual(one.send({ type: 'RESUME' }), [{ type: 'worker_resumed' }]);
    assert.equal(one.snapshot.context.suspended, null);
    assert.equal(one.snapshot.can({ type: 'RESUME' }), false);
  });

  it('is no longer suspended when it registers', () => {
    const one = worker('alive.idle', 0, 1);
    one.sendAll(ill, { type: 'REGISTER', slots_total: 1 });
    assert.equal(one.snapshot.context.suspended, null);
  });
});

describe('a worker that is leaving', () => {
  it('is reported once, goes on with its tasks, and is dead as soon as it has stopped', () => {
    const one = worker('alive.busy', 1, 2);
    assert.deepEqual(one.send({ type: 'DRAIN' }), [{ type: 'worker_draining' }, { type: 'polling_ended' }]);
    assert.deepEqual(one.send({ type: 'DRAIN' }), []);
    assert.deepEqual([one.state, one.snapshot.context.leaving], ['alive.busy', 'draining']);
    one.send({ type: 'TASK_RELEASED' });
    assert.deepEqual(one.send({ type: 'STOP' }), [{ type: 'worker_stopped' }, { type: 'polling_ended' }]);
    assert.deepEqual([one.state, one.snapshot.context.leaving], ['dead', 'stopped']);
  });

  it('is alive and no longer leaving when it sends a heartbeat or registers', () => {
    const heard = worker('alive.idle', 0, 1);
    heard.sendAll({ type: 'STOP' }, { type: 'HEARTBEAT' });
    assert.deepEqual([heard.state, heard.snapshot.context.leaving], ['alive.idle', null]);
    const again = worker('alive.idle', 0, 1);
    again.sendAll({ type: 'DRAIN' }, { type: 'REGISTER', slots_total: 1 });
    assert.equal(again.snapshot.context.leaving, null);
    const kept = worker('alive.idle', 0, 1);
    kept.send({ type: 'DRAIN' });
    assert.deepEqual(kept.send({ type: 'RESUME' }), [{ type: 'worker_resumed' }]);
    assert.equal(kept.snapshot.context.leaving, null);
  });

  it('that falls silent meanwhile is dead, not stopped', () => {
    const one = worker('alive.busy', 1, 1);
    one.sendAll({ type: 'DRAIN' }, { type: 'HEARTBEAT_MISSED' });
    assert.deepEqual([one.state, one.snapshot.context.leaving], ['dead', 'draining']);
  });
});

describe('the supervisor', () => {
  it('counts the commits that failed in a row, and keeps why the last one did, until one works', () => {
    const supervisor = new Driven(supervisorMachine, 'serving', { failures: 0, fault: null });
    supervisor.sendAll(
      { type: 'COMMIT_FAILED', fault: 'disk full' },
      { type: 'COMMIT_FAILED', fault: 'read-only' },
    );
    assert.deepEqual(supervisor.snapshot.context, { failures: 2, fault: 'read-only' });
    supervisor.send({ type: 'COMMITTED' });
    assert.deepEqual(supervisor.snapshot.context, { failures: 0, fault: null });
  });

  it('does so also while it drains', () => {
    const supervisor = new Driven(supervisorMachine, 'draining', { failures: 0, fault: null });
    supervisor.send({ type: 'COMMIT_FAILED', fault: 'disk full' });
    assert.deepEqual(supervisor.snapshot.context, { failures: 1, fault: 'disk full' });
    supervisor.send({ type: 'COMMITTED' });
    assert.deepEqual(supervisor.snapshot.context, { failures: 0, fault: null });
  });
});
