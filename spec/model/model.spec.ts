import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Message } from '../../gateway/messages.ts';
import { fastFolder } from './base.ts';
import { type ModelRun, runModel } from './property.ts';

const short = (differs: Partial<ModelRun>): ModelRun => ({
  ...{ seed: 20_260_101, runs: 200, line: 'wire', longest: 40, base: fastFolder() },
  ...differs,
});

/** Forgets which attempt a report is about: late reports count. */
const unfenced = (message: Message): Message => {
  if (message.type !== 'complete_task' && message.type !== 'fail_task') return message;
  const { attempt: _, ...rest } = message;
  return rest as Message;
};

describe('whatever clients, workers, time and crashes do in whatever order', () => {
  test('the server answers, publishes and records what the reference predicts', async () => {
    const { failure, sequences, played } = await runModel(short({}));
    assert.equal(failure, null);
    assert.ok(sequences === 200 && played.answered > 2000, `only ${played.answered} requests were answered`);
    const { restarts, crashes, refusals, groups, slices, reused, operated } = played;
    const rare = [restarts, crashes, refusals, groups, slices, reused, operated];
    assert.ok(Math.min(...rare) > 20, `some things hardly happened: ${JSON.stringify(played)}`);
  });

  test('the same holds over HTTP on a real socket', async () => {
    const { failure, played } = await runModel(short({ line: 'http', runs: 25 }));
    assert.equal(failure, null);
    assert.ok(played.answered > 200, `only ${played.answered} requests were answered`);
  });

  test('a server that accepts late reports is detected, and the sequence that shows it can be replayed by seed and path', async () => {
    const run = short({ tamper: unfenced, runs: 500 });
    const { failure } = await runModel(run);
    assert.match(failure ?? '', /stale_attempt/);
    const [, seed, path] =
      /npm run model -- --seed (\d+) --path ([\d:]+) --line wire/.exec(failure ?? '') ?? [];
    const again = await runModel({ ...run, seed: Number(seed), path });
    assert.equal(again.failure?.split('\n')[0], failure?.split('\n')[0]);
    assert.equal((await runModel({ ...run, path, runs: 1, tamper: (message) => message })).failure, null);
  });
});
