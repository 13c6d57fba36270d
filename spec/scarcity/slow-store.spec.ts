import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { withJob } from '../support/cluster.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { slowStore } from './slow-store.ts';

const MIB = 1024 * 1024;

describe('a store whose commits take half a second', () => {
  test('keeps all that it accepts, and refuses with 503 what would not fit into memory', async (t) => {
    const state = join(await temporaryDirectory(t), 'state');
    const figures = await slowStore({ state, slowMs: 500, seconds: 2, clients: 200, waves: 1 });
    t.diagnostic(JSON.stringify(figures));
    // One commit each would be two a second; a busy machine does not get to many more than ten.
    assert.ok(figures.perSecond > 10, 'requests share a commit');
    assert.ok(figures.heavyAccepted > 0, 'what fits is accepted');
    assert.ok(figures.heavyRefused > 0, 'what does not fit is refused');
    // Bodies of 64 MiB, each several times over while it is on its way into the store.
    assert.ok(figures.grownHeavy < 1024 * MIB, `memory grew by ${figures.grownHeavy / MIB} MiB`);
  });
});

describe('a mailbox that is full', () => {
  test('accepts no new work, but heartbeats and results, and everything again after the commit', async (t) => {
    const { cluster, worker } = await withJob(t, undefined, { maxWaiting: 3 });
    const task = await worker.run();
    let release = () => {};
    let isWriting = false;
    cluster.faults.beforeCommit = () =>
      new Promise((resolve) => {
        isWriting = true;
        release = resolve;
      });
    const first = cluster.submit();
    // While the first is being written, the mailbox fills behind it.
    await until('the first to be on its way', () => isWriting);
    const waiting = [cluster.submit(), cluster.submit(), cluster.submit()];
    await assert.rejects(cluster.submit(), { code: 'overloaded', message: /nothing was accepted/ });
    await assert.rejects(cluster.register(), { code: 'overloaded' });
    const heard = worker.heartbeat();
    const completed = worker.complete(task);
    delete cluster.faults.beforeCommit;
    release();
    await Promise.all([first, ...waiting, heard]);
    assert.deepEqual(await completed, { ok: true });
    await cluster.submit();
    const jobs = await cluster.seen.jobs({ limit: 100 });
    assert.equal(jobs.length, 6, 'nothing that was refused is there');
  });
});
