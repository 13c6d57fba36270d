import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryDirectory } from '../support/server.ts';
import { holdingClients, mostConnections } from './clients.ts';

const MIB = 1024 * 1024;

describe('clients that hold connections which they do not use', () => {
  test('do not prevent others from being served, take little memory, and are disconnected', async (t) => {
    const state = join(await temporaryDirectory(t), 'state');
    const figures = await holdingClients({ state, idle: Math.min(2000, mostConnections()), dripping: 20 });
    t.diagnostic(JSON.stringify(figures));
    assert.ok(figures.grown < 50 * MIB, `memory grew by ${figures.grown / MIB} MiB`);
  });
});
