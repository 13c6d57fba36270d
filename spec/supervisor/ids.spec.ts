import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { idMaker, pooledRandom } from '../../actors/shared/ids.ts';
import { SimulatedClock } from '../support/clock.ts';

describe('ids', () => {
  test('begin with the kind of what they name, then have 26 characters that need no quoting anywhere', () => {
    const makeId = idMaker(new SimulatedClock());
    for (const kind of ['job', 'task', 'worker', 'art'] as const) {
      assert.match(makeId(kind), new RegExp(`^${kind}_[0-9a-hjkmnp-tv-z]{26}$`));
    }
  });

  test('do not repeat, not even within one moment', () => {
    const makeId = idMaker(new SimulatedClock());
    const made = Array.from({ length: 50_000 }, () => makeId('task'));
    assert.equal(new Set(made).size, made.length);
    // Nor do their random halves, which would show a piece of randomness used twice.
    assert.equal(new Set(made.map((id) => id.slice(-16))).size, made.length);
  });

  test('sort by the time at which they were made', async () => {
    const clock = new SimulatedClock();
    const makeId = idMaker(clock);
    const made: string[] = [];
    for (let i = 0; i < 100; i++) {
      made.push(makeId('job'));
      await clock.advance(0.002);
    }
    assert.deepEqual(made, [...made].sort());
  });

  test('are the same again with the same time and randomness', () => {
    const make = () => idMaker(new SimulatedClock(), (bytes) => new Uint8Array(bytes).fill(7))('job');
    assert.equal(make(), make());
  });

  test('take randomness in pieces of a pool that never overlap', () => {
    const random = pooledRandom(64);
    const pieces = Array.from({ length: 1000 }, () => Buffer.from(random(16)).toString('hex'));
    assert.equal(new Set(pieces).size, pieces.length);
  });
});
