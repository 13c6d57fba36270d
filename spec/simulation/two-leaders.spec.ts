import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fastFolder } from '../model/base.ts';
import { requires } from '../support/requires.ts';
import { usePostgres } from '../support/test-store.ts';
import { type SimulationOptions, simulate } from './run.ts';
import { playTime } from './time.ts';

describe('servers that take one store in PostgreSQL from each other', requires('postgresql'), () => {
  let back: () => void = () => {};
  let end: () => Promise<void> = async () => {};

  before(async () => {
    end = await usePostgres();
    back = playTime();
  });

  after(async () => {
    back();
    await end();
  });

  const short = (options: Omit<SimulationOptions, 'base'>) => simulate({ ...options, base: fastFolder() });

  test('keep every promise, though two believe that they lead, and both are asked', async () => {
    const run = await short({ seed: 31, hours: 1, faults: 'leaders' });
    const { usurpations } = run.chaos;
    assert.ok(usurpations > 3, `${usurpations} take-overs are too few`);
    assert.ok(run.overthrown > 2, `only ${run.overthrown} of ${usurpations} heard of it`);
    assert.ok(run.acknowledged > 100, `only ${run.acknowledged} requests were acknowledged`);
  });
});
