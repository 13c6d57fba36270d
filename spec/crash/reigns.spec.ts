import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PostgresPair } from '../support/postgres-pair.ts';
import { requires } from '../support/requires.ts';
import type { BlowName } from './blows.ts';
import { Reigns } from './reigns.ts';

/** The others take as long as a lease, or stand elsewhere: `npm run crash -- --servers 3` has all of them. */
const ROUNDS: [BlowName, string][] = [
  ['cut', 'the connections of the one that leads to the database are cut: another one leads, and it ends'],
  ['half_open', 'the database has ended them, and the one that led believes that they stand'],
  ['fail_over', 'PostgreSQL is killed, and its replica promoted'],
  ['silent', 'nothing comes through between the one that leads and the database for longer than its lease'],
  ['slow', 'everything between them takes its time'],
];

const needing = requires('postgresql');

describe(
  'three servers on a database with a replica lose nothing, and do nothing twice, where',
  needing,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'jq-spec-reigns-'));
    let pair: PostgresPair | null = null;
    let reigns: Reigns | null = null;

    before(async () => {
      pair = await PostgresPair.start();
      reigns = await Reigns.begin({ folder, seed: 7, servers: 3, pair });
    });

    after(async () => {
      await reigns?.close();
      await pair?.stop();
      rmSync(folder, { recursive: true });
    });

    for (const [name, title] of ROUNDS)
      test(title, async () => assert.deepEqual(await reigns?.round(name), []));

    test('all of that is over: what was accepted ends, and one stream had every event once and in order', async () => {
      const { faults, followed, acknowledged } = (await reigns?.end()) ?? {};
      assert.deepEqual(faults, []);
      assert.ok((followed ?? 0) > 100, `${followed} events are too few`);
      for (const what of ['job', 'complete', 'fail', 'event', 'artifact', 'cancel'])
        assert.ok((acknowledged?.[what] ?? 0) > 0, `none of kind ${what} was acknowledged`);
    });
  },
);
