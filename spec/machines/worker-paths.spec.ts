import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { getShortestPaths } from 'xstate/graph';
import { type WorkerContext, type WorkerEvent, workerMachine } from '../../machines/worker/worker.ts';
import { BOUNDED, drive, type Step, status } from './paths.ts';
import { WORKER_EVENTS, workerContext } from './samples.ts';

function checkWorker({
  from,
  to,
  before,
  after,
  event,
  emitted,
}: Step<WorkerContext, WorkerEvent, { type: string }>): void {
  const step = `${from} × ${event.type} → ${to}, ${after.slots_used} of ${after.slots_total}`;
  assert.ok(after.slots_used >= 0, step);
  const shrunk =
    event.type === 'REGISTER' ||
    after.slots_used < before.slots_used ||
    before.slots_used > before.slots_total;
  assert.ok(after.slots_used <= after.slots_total || shrunk, `${step}: never more than there are`);
  if (after.slots_used > before.slots_used) {
    assert.equal(status(from), 'alive', `${step}: a dead worker takes nothing`);
    assert.ok(before.slots_used < before.slots_total, `${step}: a full worker takes nothing`);
    assert.equal(before.drained, null, `${step}: one that is drained takes nothing`);
  }
  const room = after.slots_used === 0 ? 'idle' : after.slots_used < after.slots_total ? 'busy' : 'full';
  const rest = after.drained === null ? room : after.slots_used === 0 ? 'drained' : 'draining';
  assert.ok(to === 'dead' || to === 'removed' || to === `alive.${rest}`, step);
  assert.deepEqual(
    emitted.map(({ type }) => type),
    toldBy(from, to, before, after, event),
    step,
  );
  assert.ok(status(to) !== 'alive' || after.leaving !== 'stopped', `${step}: who has ended is not alive`);
  if (status(from) === 'dead')
    assert.ok(after.suspended === before.suspended || event.type === 'REGISTER', step);
  const orders = ['DRAIN_ORDERED', 'DRAIN_LIFTED'].includes(event.type);
  assert.ok(after.drained === before.drained || orders, `${step}: only an operator begins and ends it`);
}

/**
 * What is told of a step: that it registered, came or went, or else that it asks for tasks no more, or again; what an
 * operator orders, and when it has no task any more. Whenever
 * it wants none from now on, also for another reason than before, what it has asked for is withdrawn.
 */
function toldBy(
  from: string,
  to: string,
  before: WorkerContext,
  after: WorkerContext,
  event: WorkerEvent,
): string[] {
  const isDone = after.drained !== null && after.slots_used === 0;
  const isDrained = to === 'alive.drained' || (to === 'dead' && isDone) ? ['worker_drained'] : [];
  if (from === 'removed') return [];
  if (event.type === 'REGISTER') return ['worker_registered'];
  if (event.type === 'DRAIN_ORDERED') return ['worker_drain_ordered', ...isDrained];
  if (event.type === 'TASK_RELEASED') return before.slots_used === after.slots_used ? [] : isDrained;
  if (before.drained !== after.drained) return ['worker_drain_lifted'];
  if (to === 'removed') return ['worker_removed', 'polling_ended'];
  if (event.type === 'STOP' && status(from) !== status(to)) return ['worker_stopped', 'polling_ended'];
  if (status(from) !== status(to)) return [to !== 'dead' ? 'worker_alive' : 'worker_dead'];
  const asks = (context: WorkerContext) => context.suspended === null && context.leaving === null;
  if (after.suspended !== null && before.suspended !== after.suspended) {
    return [...(before.suspended === null ? ['worker_suspended'] : []), 'polling_ended'];
  }
  if (before.leaving === null && after.leaving !== null) return ['worker_draining', 'polling_ended'];
  return !asks(before) && asks(after) ? ['worker_resumed'] : [];
}

describe('every path of a worker', () => {
  it('keeps its slots within bounds, alive or dead, whatever it registers', () => {
    const events: WorkerEvent[] = [...Object.values(WORKER_EVENTS), { type: 'REGISTER', slots_total: 3 }];
    const paths = getShortestPaths(workerMachine, {
      input: workerContext(0),
      events,
      ...BOUNDED,
      serializeState: ({ value, context }) => JSON.stringify([value, context]) as never,
    });
    const steps = drive(
      workerMachine,
      ['alive.idle', workerContext(0)],
      paths,
      () => events,
      checkWorker as never,
    );
    assert.ok(steps > 200, `${steps} steps on ${paths.length} paths`);
  });
});
