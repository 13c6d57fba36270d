import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../support/server.ts';
import { longViews } from './long-views.ts';

const MIB = 1024 * 1024;

test('a view takes a bounded amount of memory, however long it is and however many clients do not read it', async (t) => {
  const folder = await temporaryDirectory(t);
  const lengths = { rows: 6, bytes: 6 * MIB, others: 3, othersBytes: 6 * MIB };
  const figures = await longViews({ state: join(folder, 'state'), ...lengths, stalled: 30 });
  const longest = Math.max(...Object.values(figures.answers));
  assert.ok(longest > 60 * MIB, `the longest answer has ${longest} bytes`);
  for (const grown of [figures.grownReading, figures.grownStalled]) {
    assert.ok(grown < 250 * MIB, `the server grew by ${grown / MIB} MiB`);
  }
});
