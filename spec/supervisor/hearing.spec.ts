import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { HearingClock } from '../../actors/shared/hearing-clock.ts';
import { StepClock } from '../support/step-clock.ts';

const TICK = 0.1;

/** A process on simulated time: what is due while it stands still happens at once when it goes on. */
function start() {
  const clock = new StepClock();
  const reading: (() => void)[] = [];
  const hearing = new HearingClock(clock, {
    tick: TICK,
    // The rounds that only separate two looks are over at once; those in which sockets are read, when the test says.
    afterRounds: (rounds, callback) => (rounds === 1 ? callback() : reading.push(callback)),
  });
  const listen = (seconds: number) => {
    const end = clock.monotonic() + seconds;
    while (clock.nextAt <= end) clock.moveTo(clock.nextAt);
    clock.moveTo(end);
  };
  const standStill = (seconds: number) => clock.moveTo(clock.monotonic() + seconds);
  const read = () => {
    for (const callback of reading.splice(0)) callback();
  };
  return { clock, hearing, listen, standStill, read };
}

const near = (actual: number, expected: number, by: number) =>
  assert.ok(Math.abs(actual - expected) <= by, `${actual} is not ${expected}, give or take ${by}`);

describe('the hearing clock', () => {
  test('runs all the time while the server listens', () => {
    const { hearing, listen, read } = start();
    let isDue = false;
    hearing.timer(60, () => {
      isDue = true;
    });
    const before = hearing.monotonic();
    listen(59.9);
    read();
    near(hearing.monotonic() - before, 59.9, 1e-6);
    assert.equal(isDue, false);
    listen(0.2);
    read();
    assert.equal(isDue, true);
  });

  test('advances by no more than two of its intervals while the server stalls, however long that lasts', () => {
    for (const seconds of [1, 60, 86_400]) {
      const { hearing, listen, standStill } = start();
      hearing.timer(1e9, () => {});
      listen(5);
      const before = hearing.monotonic();
      standStill(seconds);
      near(hearing.monotonic() - before, 0, 2 * TICK);
      listen(10);
      near(hearing.monotonic() - before, 10, 3 * TICK);
    }
  });

  test('never goes back, and advances by no more than two intervals in each of many stalls', () => {
    const spans = fc.array(
      fc.record({
        stall: fc.double({ min: 0, max: 5, noNaN: true }),
        listen: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      { maxLength: 50 },
    );
    const property = fc.property(spans, (all) => {
      const { hearing, listen, standStill } = start();
      hearing.timer(1e9, () => {});
      let last = hearing.monotonic();
      const begun = last;
      for (const span of all) {
        standStill(span.stall);
        assert.ok(hearing.monotonic() >= last);
        listen(span.listen);
        assert.ok(hearing.monotonic() >= last);
        last = hearing.monotonic();
      }
      const heard = last - begun;
      const listened = all.reduce((sum, span) => sum + span.listen, 0);
      const most = all.reduce((sum, span) => sum + Math.min(span.stall, 3 * TICK) + span.listen, 0);
      assert.ok(heard <= most + 1e-6, `${heard} s count, of at most ${most}`);
      assert.ok(
        heard >= listened - 2 * TICK * all.length - 1e-6,
        `${heard} s count, of ${listened} that it listened`,
      );
    });
    fc.assert(property, { seed: 20261128, numRuns: 300 });
  });

  test('goes on however often the server stalls, so that every deadline comes in the end', () => {
    const { hearing, listen, standStill, read } = start();
    let isDue = false;
    hearing.timer(60, () => {
      isDue = true;
    });
    for (let rounds = 0; !isDue; rounds++) {
      assert.ok(rounds < 1000, 'it never comes due');
      standStill(10);
      listen(0.001);
      read();
    }
  });

  test('fires a deadline only after the sockets have been read, and not at all when it was withdrawn by then', () => {
    const { hearing, listen, read } = start();
    const due: string[] = [];
    hearing.timer(1, () => due.push('first'));
    const takeBack = hearing.timer(1, () => due.push('second'));
    listen(2);
    assert.deepEqual(due, []);
    takeBack();
    read();
    assert.deepEqual(due, ['first']);
  });

  test('does nothing while there is no deadline', () => {
    const { clock, hearing, listen } = start();
    hearing.timer(5, () => {})();
    listen(1);
    assert.equal(clock.nextAt, Number.POSITIVE_INFINITY);
  });
});
