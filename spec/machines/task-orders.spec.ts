import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accepted, heldTask, report, TASK_EVENTS, taskContext } from './samples.ts';
import { ended, held, last, task } from './task-support.ts';

describe('a task of a cancelled job', () => {
  it('ends at once while it is queued or leased, and holds no lease any more', () => {
    const queued = task('queued', taskContext());
    assert.deepEqual(queued.send(TASK_EVENTS.CANCEL), [{ type: 'task_cancelled' }]);
    assert.deepEqual(queued.snapshot.context, taskContext());
    const leased = held('leased');
    assert.deepEqual(leased.send(TASK_EVENTS.CANCEL), [{ type: 'task_cancelled' }, ended('cancelled')]);
    assert.deepEqual(leased.snapshot.context, heldTask({ lease_expires_at: null }));
  });

  it('stays running, with its lease, until its worker has stopped it', () => {
    const running = held('running.executing');
    assert.deepEqual(running.send(TASK_EVENTS.CANCEL), [{ type: 'stop_requested' }]);
    assert.deepEqual(running.snapshot.context, heldTask());
  });

  for (const event of ['COMPLETE', 'FAIL retriable', 'FAIL final'] as const) {
    it(`ends cancelled on ${event}: the report is remembered, its outcome is not`, () => {
      const stopping = held('running.stopping');
      assert.deepEqual(stopping.send(TASK_EVENTS[event]), [{ type: 'task_cancelled' }, ended('reported')]);
      const last_report = accepted(TASK_EVENTS[event].report);
      assert.deepEqual(stopping.snapshot.context, heldTask({ lease_expires_at: null, last_report }));
    });
  }

  for (const event of ['LEASE_EXPIRED', 'TIMEOUT'] as const) {
    it(`ends cancelled on ${event} and is never queued again`, () => {
      const stopping = held('running.stopping');
      const why = event === 'LEASE_EXPIRED' ? 'expired' : 'timed_out';
      assert.deepEqual(stopping.send(TASK_EVENTS[event]), [{ type: 'task_cancelled' }, ended(why)]);
      // Who fell silent holds nothing any more; who only took too long still does.
      const worker_id = event === 'LEASE_EXPIRED' ? null : 'worker_1';
      assert.deepEqual(stopping.snapshot.context, heldTask({ lease_expires_at: null, worker_id }));
    });
  }
});

describe('a failed task that a person retries', () => {
  it('gets more attempts; its count of attempts goes on, for it fences late reports', () => {
    const failed = held('failed', {
      ...last,
      lease_expires_at: null,
      error: 'x',
      last_report: accepted(report('fail', 2)),
    });
    assert.deepEqual(failed.send({ type: 'RETRY', extra_attempts: 3 }), [
      { type: 'task_requeued', reason: 'retry' },
    ]);
    assert.deepEqual(
      failed.snapshot.context,
      taskContext({ attempt: 2, max_attempts: 5, last_report: accepted(report('fail', 2)) }),
    );
  });
});

describe('a report that is refused', () => {
  it('does not take the place of the last accepted one', () => {
    const done = held('succeeded', { last_report: accepted(report('complete')) });
    done.send(TASK_EVENTS['FAIL final']);
    assert.deepEqual(done.snapshot.context.last_report, accepted(report('complete')));
  });
});
