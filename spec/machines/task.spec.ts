import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accepted, fail, heldTask, report, TASK_EVENTS, taskContext } from './samples.ts';
import { ended, held, last, task } from './task-support.ts';

const SILENT = 'the worker fell silent and the lease expired';

const REPORTED = { event: TASK_EVENTS['FAIL retriable'], why: 'reported', reports: true } as const;
const TIMED_OUT = { event: TASK_EVENTS.TIMEOUT, why: 'timed_out', reports: false } as const;

/** What is emitted when a task has failed: for the last time, and by its own fault. */
const taskFailed = (changes: object) => ({
  ...{ type: 'task_failed', error: 'the spectra are empty', retriable: true, requeued: false, fault: 'task' },
  ...changes,
});

describe('a task that is leased', () => {
  it('counts the attempt, belongs to the worker until the lease expires, and has not been started', () => {
    const leased = task('queued', taskContext({ attempt: 1, started_at: 50, error: 'of the first attempt' }));
    const emitted = leased.send({ type: 'LEASE', worker_id: 'worker_7', lease_expires_at: 160 });
    const { attempt, worker_id, lease_expires_at, started_at } = leased.snapshot.context;
    assert.deepEqual(
      { attempt, worker_id, lease_expires_at, started_at },
      { attempt: 2, worker_id: 'worker_7', lease_expires_at: 160, started_at: null },
    );
    assert.deepEqual(emitted, [{ type: 'lease_started', worker_id: 'worker_7' }, { type: 'task_leased' }]);
  });

  it('goes back to its place at no cost when the answer never reached the worker', () => {
    const leased = held('leased', { attempt: 2, max_attempts: 2 });
    assert.deepEqual(leased.send(TASK_EVENTS.UNDELIVERED), [
      { type: 'task_requeued', reason: 'undelivered' },
      ended('undelivered'),
    ]);
    const { attempt, worker_id, lease_expires_at } = leased.snapshot.context;
    assert.deepEqual(
      { attempt, worker_id, lease_expires_at },
      { attempt: 1, worker_id: null, lease_expires_at: null },
    );
    leased.send(TASK_EVENTS.LEASE);
    assert.equal(leased.snapshot.context.attempt, 2, 'and the last attempt can still be made');
  });
});

describe('a task that is started', () => {
  it('notes when, keeps its lease, and remembers the report so that a repetition gets the same answer', () => {
    const started = held('leased');
    assert.deepEqual(started.send(TASK_EVENTS.START), [{ type: 'task_started' }]);
    const { started_at, worker_id, lease_expires_at, last_report } = started.snapshot.context;
    assert.deepEqual(
      { started_at, worker_id, lease_expires_at },
      { started_at: 100, worker_id: 'worker_1', lease_expires_at: 160 },
    );
    assert.deepEqual(last_report, accepted(report('start')));
  });
});

describe('a task that is completed', () => {
  it('keeps result, rank value, model, report and worker, and drops its lease and earlier errors', () => {
    const done = held('running.executing', { error: 'of the first attempt', attempt: 2 });
    const emitted = done.send({ ...TASK_EVENTS.COMPLETE, report: report('complete', 2) });
    const told = { rank_value: 0.5, rank_others: [null, 2], model_artifact_id: 'art_1' };
    assert.deepEqual(emitted, [
      { type: 'task_completed', metrics: '{"best_rmse":0.5}', ...told },
      ended('reported'),
    ]);
    assert.deepEqual(
      done.snapshot.context,
      heldTask({
        attempt: 2,
        lease_expires_at: null,
        result: '{"status":"succeeded"}',
        ...told,
        last_report: accepted(report('complete', 2)),
      }),
    );
  });
});

for (const { title, state, event, why, reports } of [
  { title: 'fails while it is leased', state: 'leased', ...REPORTED },
  { title: 'fails while it is running', state: 'running.executing', ...REPORTED },
  { title: 'the server times out', state: 'running.executing', ...TIMED_OUT },
]) {
  describe(`a task that ${title}`, () => {
    const { error } = event;

    it('is queued again without worker and lease, and keeps the error', () => {
      const failed = held(state);
      assert.deepEqual(failed.send({ ...event, traceback: 'line 7' } as typeof event), [
        { ...taskFailed({ error, requeued: true }), ...(reports && { traceback: 'line 7' }) },
        { type: 'task_requeued', reason: 'failure' },
        ended(why),
      ]);
      const last_report = reports ? accepted(report('fail'), true) : null;
      assert.deepEqual(failed.snapshot.context, taskContext({ attempt: 1, error, last_report }));
    });

    it('ends failed after the last attempt, and keeps the worker that had it', () => {
      const failed = held(state, last);
      assert.deepEqual(failed.send(event), [taskFailed({ error }), ended(why)]);
      const last_report = reports ? accepted(report('fail')) : null;
      assert.deepEqual(
        failed.snapshot.context,
        heldTask({ ...last, lease_expires_at: null, error, last_report }),
      );
    });
  });
}

for (const state of ['leased', 'running.executing']) {
  const from = state.split('.')[0];
  describe(`a task that fails for good while it is ${from}`, () => {
    it('ends failed at once, whatever attempts are left', () => {
      const failed = held(state);
      assert.deepEqual(failed.send(TASK_EVENTS['FAIL final']), [
        taskFailed({ retriable: false }),
        ended('reported'),
      ]);
      assert.equal(failed.state, 'failed');
    });
  });

  describe(`a task whose lease expires while it is ${from}`, () => {
    it('is lost and queued again in one step', () => {
      const expired = held(state, { last_report: accepted(report('start')) });
      assert.deepEqual(expired.send(TASK_EVENTS.LEASE_EXPIRED), [
        { type: 'task_lost' },
        { type: 'task_requeued', reason: 'lease_lapsed' },
        ended('expired'),
      ]);
      assert.deepEqual(
        expired.snapshot.context,
        taskContext({ attempt: 1, error: SILENT, last_report: accepted(report('start')) }),
      );
    });

    it('is lost and failed in one step after the last attempt', () => {
      const expired = held(state, last);
      assert.deepEqual(expired.send(TASK_EVENTS.LEASE_EXPIRED), [
        { type: 'task_lost' },
        taskFailed({ error: SILENT }),
        ended('expired'),
      ]);
      assert.deepEqual(
        expired.snapshot.context,
        heldTask({ ...last, lease_expires_at: null, error: SILENT }),
      );
    });
  });

  describe(`a task that meets a fault of its worker while it is ${from}`, () => {
    const ill = (by: string, elsewhere = true) => fail(true, { fault: 'worker', by, elsewhere });

    it('is queued again at no cost: the count of attempts goes on, and one more is allowed', () => {
      const met = held(state, { attempt: 1, max_attempts: 1, backoff_seconds: 30 });
      const [failed, requeued] = met.send(ill('a'));
      assert.ok(failed?.type === 'task_failed' && failed.fault === 'worker' && failed.requeued);
      assert.equal(requeued?.type, 'task_requeued');
      const { attempt, max_attempts, worker_faults, avoids, not_before } = met.snapshot.context;
      assert.deepEqual(
        { attempt, max_attempts, worker_faults, avoids, not_before },
        { attempt: 1, max_attempts: 2, worker_faults: 1, avoids: ['a'], not_before: null },
      );
    });

    it('pays for the sixth such fault with an attempt, like any other', () => {
      const met = task('queued', taskContext({ max_attempts: 1 }));
      const states = [0, 1, 2, 3, 4, 5].map((n) => {
        met.send(TASK_EVENTS.LEASE);
        if (state !== 'leased') met.send(TASK_EVENTS.START);
        met.send(ill(`worker ${n}`));
        return `${met.state} ${met.snapshot.context.attempt} of ${met.snapshot.context.max_attempts}`;
      });
      assert.deepEqual(states, [
        ...['queued 1 of 2', 'queued 2 of 3', 'queued 3 of 4', 'queued 4 of 5', 'queued 5 of 6'],
        'failed 6 of 6',
      ]);
    });

    it('pays for it, and waits as after any failure, also where attempts are left', () => {
      const met = held(state, { worker_faults: 5, attempt: 1, max_attempts: 3, backoff_seconds: 30 });
      met.send({ ...ill('a'), now: 1000 });
      const { max_attempts, worker_faults, not_before } = met.snapshot.context;
      assert.deepEqual(
        { state: met.state, max_attempts, worker_faults, not_before },
        { state: 'queued', max_attempts: 3, worker_faults: 6, not_before: 1030 },
      );
    });

    it('fails with that error where no other worker could run it, and where a retry makes no sense', () => {
      for (const event of [ill('a', false), { ...ill('a'), retriable: false }]) {
        const met = held(state);
        assert.deepEqual(
          met.send(event).map(({ type }) => type),
          ['task_failed', 'lease_ended'],
        );
        assert.equal(met.state, 'failed');
        assert.equal(met.snapshot.context.error, 'the spectra are empty');
      }
    });

    it('avoids each registration once, and none any more once a person retries it', () => {
      const met = held(state, { avoids: ['a', 'b'], worker_faults: 2 });
      met.send(ill('a'));
      assert.deepEqual(met.snapshot.context.avoids, ['b', 'a']);
      met.sendAll({ type: 'GIVE_UP', error: 'nobody is left' }, TASK_EVENTS.RETRY);
      assert.deepEqual(met.snapshot.context.avoids, []);
      assert.equal(met.snapshot.context.worker_faults, 3);
    });
  });
}

describe('a task that waits after a failure', () => {
  const backoff = { backoff_seconds: 100, max_attempts: 10 };

  it('waits twice as long with each attempt, up to ten minutes', () => {
    const tried = task('queued', taskContext(backoff));
    const waits = [1, 2, 3, 4, 5].map(() => {
      tried.sendAll(TASK_EVENTS.LEASE, TASK_EVENTS.START);
      assert.equal(tried.snapshot.context.not_before, null, 'a leased task waits for nothing');
      tried.send(fail(true, { now: 1000 }));
      return Number(tried.snapshot.context.not_before) - 1000;
    });
    assert.deepEqual(waits, [100, 200, 400, 600, 600]);
  });

  it('waits after a timeout too, but neither when its lease expired nor when a worker was at fault', () => {
    const after = (event: Parameters<ReturnType<typeof held>['send']>[0]) => {
      const tried = held('running.executing', { ...backoff, attempt: 2, worker_faults: 1 });
      tried.send(event);
      return tried.snapshot.context.not_before;
    };
    assert.equal(after(TASK_EVENTS.TIMEOUT), 200, 'an attempt that cost nothing doubles nothing');
    assert.equal(after(TASK_EVENTS.LEASE_EXPIRED), null);
    assert.equal(after(TASK_EVENTS['FAIL elsewhere']), null);
  });

  it('waits no longer for attempts that an operator took back, or their workers gave back', () => {
    const tried = task('queued', taskContext(backoff));
    const lease = () => tried.sendAll(TASK_EVENTS.LEASE, TASK_EVENTS.START);
    for (const event of [TASK_EVENTS.TAKE_BACK, TASK_EVENTS.GIVE_BACK, TASK_EVENTS.GIVE_BACK]) {
      lease();
      tried.send(event);
      assert.equal(tried.snapshot.context.not_before, null);
    }
    lease();
    tried.send({ ...TASK_EVENTS.TIMEOUT, now: 1000 });
    assert.equal(tried.snapshot.context.not_before, 1100, 'the first that counts');
    lease();
    tried.send({ ...TASK_EVENTS.TIMEOUT, now: 1000 });
    assert.equal(tried.snapshot.context.not_before, 1200);
  });

  it('waits no longer once it is cancelled, fails or is retried by a person', () => {
    for (const event of [TASK_EVENTS.CANCEL, TASK_EVENTS.GIVE_UP]) {
      const waiting = task('queued', taskContext({ ...backoff, not_before: 160 }));
      waiting.send(event);
      assert.equal(waiting.snapshot.context.not_before, null);
    }
  });
});

describe('a task that nobody can run any more', () => {
  it('fails by no fault of its own, after no attempt', () => {
    const given = task('queued', taskContext());
    assert.deepEqual(given.send(TASK_EVENTS.GIVE_UP), [
      taskFailed({ error: 'nobody has the spectra', retriable: true, fault: 'worker' }),
    ]);
  });
});
