import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Seeded } from '../support/seeded.ts';
import { oversizedViews } from './oversized.ts';
import { OpenScope } from './scope.ts';
import { Target } from './target.ts';

const MIB = 1024 * 1024;

test('no request makes a view too large for the memory of the server, nor does a client that does not read it', async (t) => {
  const scope = new OpenScope();
  t.after(() => scope.end());
  const target = await Target.start(scope);
  const before = await target.memory();
  const figures = await oversizedViews(target, { chance: new Seeded(11), rows: 12, stalled: 30 });
  const grown = (await target.memory()) - before;
  assert.ok(figures.sent > 20 * MIB, `${figures.sent} bytes were reported`);
  assert.ok(figures.shown < figures.sent, `${figures.shown} bytes are shown of ${figures.sent}`);
  assert.ok(grown < 400 * MIB, `the server grew by ${Math.round(grown / MIB)} MiB`);
});
