import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { temporaryDirectory } from '../support/server.ts';
import { logFlood } from './log-flood.ts';

const MIB = 1024 * 1024;

describe('a task that logs without end', () => {
  test('has its log cut, and the memory of worker and server and the disk do not fill', async (t) => {
    const figures = await logFlood(await temporaryDirectory(t), 200 * MIB);
    t.diagnostic(JSON.stringify(figures));
    assert.ok(figures.workerGrown < 100 * MIB, `the worker grew by ${figures.workerGrown / MIB} MiB`);
    assert.ok(figures.serverGrown < 100 * MIB, `the server grew by ${figures.serverGrown / MIB} MiB`);
    assert.ok(figures.disk < 80 * MIB, `its directory took ${figures.disk / MIB} MiB`);
    assert.ok(figures.events <= figures.seconds + 3, 'events come at most once a second');
  });
});
