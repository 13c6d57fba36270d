import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { requires } from '../support/requires.ts';
import { usePostgres } from '../support/test-store.ts';
import { fastFolder } from './base.ts';
import { runModel } from './property.ts';

describe(
  'whatever clients, workers, time and crashes do to a server whose store is in PostgreSQL',
  requires('postgresql'),
  () => {
    let end: () => Promise<void> = async () => {};

    before(async () => {
      end = await usePostgres();
    });

    after(() => end());

    test('it answers, publishes and records what the reference predicts', async () => {
      const run = { seed: 20_260_102, runs: 25, line: 'wire', longest: 40, base: fastFolder() } as const;
      const { failure, sequences, played } = await runModel(run);
      assert.equal(failure, null);
      assert.ok(sequences === 25 && played.answered > 250, `only ${played.answered} requests were answered`);
      const { restarts, crashes, refusals, groups } = played;
      const rare = [restarts, crashes, refusals, groups];
      assert.ok(Math.min(...rare) > 2, `some things hardly happened: ${JSON.stringify(played)}`);
    });
  },
);
