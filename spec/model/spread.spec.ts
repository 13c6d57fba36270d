import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { spread } from '../support/spread.ts';
import type { ModelOutcome, ModelRun } from './property.ts';

type Share = Omit<ModelRun, 'base'>;
const MODULE = new URL('./share.ts', import.meta.url);
const shareOf = (seed: number): Share => ({ seed, runs: 3, line: 'wire', longest: 20 });

async function play(shares: Share[], processes: number): Promise<Map<number, ModelOutcome>> {
  const outcomes = new Map<number, ModelOutcome>();
  for await (const { share, outcome } of spread<Share, ModelOutcome>(MODULE, shares, processes)) {
    outcomes.set(share.seed, outcome);
  }
  return outcomes;
}

describe('a long run in several processes', () => {
  test('runs every share, with the same outcome however many processes there are', async () => {
    const shares = [1, 2, 3, 4].map(shareOf);
    const [one, two] = [await play(shares, 1), await play(shares, 2)];
    assert.deepEqual([...two.keys()].sort(), [1, 2, 3, 4]);
    for (const [seed, outcome] of one) assert.deepEqual(two.get(seed), outcome);
    assert.equal(
      [...one.values()].reduce((sum, { sequences }) => sum + sequences, 0),
      12,
    );
  });

  test('ends with an error when a process ends before its share', async () => {
    const broken = { ...shareOf(5), line: 'wire', longest: -1 } as Share;
    await assert.rejects(play([broken], 1), /a process ended in the middle of .*"seed":5/);
  });
});
