import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { fastFolder } from '../model/base.ts';
import { type SimulationOptions, simulate } from './run.ts';
import { playTime } from './time.ts';

const short = (seed: number, differs: Partial<SimulationOptions> = {}): SimulationOptions => ({
  ...{ seed, hours: 0.5, base: fastFolder() },
  ...differs,
});

/** Takes the last events out of a store, as if their commit had been acknowledged and not been durable. */
async function forgetTheLast(folder: string): Promise<void> {
  const found = (await readdir(folder)).find((name) => name === 'store.sqlite');
  assert.ok(found, 'the store is where it should be');
  const db = await open({ filename: join(folder, found), driver: sqlite3.Database });
  await db.run('DELETE FROM events WHERE id > (SELECT MAX(id) FROM events) - 3');
  await db.close();
}

describe('a cluster in which everything fails now and then', () => {
  let back: () => void = () => {};
  before(() => {
    back = playTime();
  });
  after(() => back());

  for (const seed of [1, 2, 3]) {
    test(`keeps every promise, and ends all work when the faults end (seed ${seed})`, async () => {
      const run = await simulate(short(seed));
      assert.ok(run.acknowledged > 300, `only ${run.acknowledged} requests were acknowledged`);
      assert.ok(run.seconds >= 1800 && run.children > 10, `${run.children} analyses in ${run.seconds} s`);
      const { lost, cut, doubled } = run.network;
      assert.ok(Math.min(lost, cut, doubled) > 0, 'the network is too good for this');
    });
  }

  test('suspends workers with faults of their own, and distinguishes the copies of a worker', async () => {
    const run = await simulate(short(6, { hours: 1, faults: 'workers' }));
    const { illnesses, copies } = run.chaos;
    assert.ok(Math.min(illnesses, copies) > 0, `${illnesses} illnesses and ${copies} copies are too few`);
    assert.ok(run.suspended > 0, 'a worker that was ill asked for no tasks');
    assert.ok(run.superseded > 0, 'one of two copies became a worker of its own');
  });

  test('uses results again, and only those of tasks that computed them', async () => {
    const run = await simulate(short(8, { hours: 1 }));
    assert.ok(run.reused > 0, 'no result was used again');
  });

  for (const seed of [21, 22]) {
    test(`refits what its jobs select, once for each selection (seed ${seed})`, async () => {
      const run = await simulate(short(seed, { hours: 1, selects: true }));
      assert.ok(run.refits > 10, `${run.refits} refits are too few`);
    });
  }

  for (const seed of [11, 12]) {
    test(`takes no task from its workers where nothing fails but that the server, or everything, stalls (seed ${seed})`, async () => {
      const run = await simulate(short(seed, { hours: 1, faults: 'stalls' }));
      const { standstills, suspensions } = run.chaos;
      assert.ok(Math.min(standstills, suspensions) > 0, `${standstills} and ${suspensions} are too few`);
      assert.deepEqual([run.losses, run.children > 10], [0, true]);
    });
  }

  test('takes the same course with the same seed, and another with another', async () => {
    const [first, again, other] = [
      await simulate(short(4, { hours: 0.3 })),
      await simulate(short(4, { hours: 0.3 })),
      await simulate(short(5, { hours: 0.3 })),
    ];
    assert.deepEqual(again, first);
    assert.notEqual(other.trace, first.trace);
  });

  test('is found to be wrong when a crash loses what was acknowledged', async () => {
    await assert.rejects(
      simulate(short(1, { hours: 6, afterCrash: forgetTheLast })),
      /is not in the store|follows event/,
    );
  });
});
