import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryDirectory } from '../support/server.ts';
import { slowStreams } from './streams.ts';

const MIB = 1024 * 1024;

describe('event streams whose clients hardly read', () => {
  test('take a bounded amount of memory of the server, and miss nothing when they read on', async (t) => {
    const state = join(await temporaryDirectory(t), 'state');
    const figures = await slowStreams({ state, streams: 120, seconds: 5 });
    t.diagnostic(JSON.stringify(figures));
    assert.equal(figures.gaps, 0);
    assert.ok(figures.grown < 50 * MIB, `memory grew by ${figures.grown / MIB} MiB`);
  });
});
