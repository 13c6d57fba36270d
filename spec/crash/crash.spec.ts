import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryDirectory } from '../support/server.ts';
import { Life } from './life.ts';
import { migrateKilled, VERSIONS } from './migration.ts';
import { AIMS } from './strike.ts';

describe('a server that is killed again and again while it is used', () => {
  test('loses nothing that it acknowledged, repeats nothing, and leaves nothing behind', async (t) => {
    const life = new Life({ folder: await temporaryDirectory(t), seed: 7, rounds: AIMS.length });
    const figures = await life.run();
    t.diagnostic(JSON.stringify(figures));
    assert.deepEqual(figures.faults, []);
    const { clones, sicknesses, standstills, spoilt, halfWay, refits } = figures;
    assert.ok(Math.min(clones, sicknesses, standstills, spoilt, halfWay) > 0, 'each fault has its turn');
    assert.ok(refits > 0, 'jobs selected');
    for (const what of ['job', 'complete', 'fail', 'event', 'artifact', 'cancel']) {
      assert.ok(
        (figures.acknowledged[what] ?? 0) > 0,
        `the ledger holds acknowledged requests of kind ${what}`,
      );
    }
  });
});

describe('a migration that is killed', () => {
  for (const version of [0, ...VERSIONS.slice(0, -1)].slice(0, 2)) {
    test(`from version ${version} is done as a whole or not at all, and done by the next start`, async (t) => {
      const figures = await migrateKilled(join(await temporaryDirectory(t), 'state'), version);
      assert.deepEqual(figures.faults, []);
      assert.ok(figures.killed >= 2, `the migration was killed ${figures.killed} times`);
    });
  }
});
