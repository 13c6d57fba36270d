import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestCluster } from '../support/cluster.ts';
import { clusterKeeping, DAY, done, isThere } from './support.ts';

const YEAR = 365 * DAY;
const KEEP = { keepJobs: 90 * DAY, keepArtifacts: 30 * DAY, keepEvents: 30 * DAY };

const isKept = (cluster: TestCluster, id: string) =>
  cluster.job(id).then(
    () => true,
    () => false,
  );

describe('a wall clock that is wrong', () => {
  for (const restarted of [false, true]) {
    const when = restarted ? 'when the server starts' : 'while the server runs';
    it(`and a year ahead ${when} deletes nothing, if it is put right within a day`, async (t) => {
      const { cluster, worker } = await clusterKeeping(t, KEEP);
      const { id, model, sha256 } = await done(cluster, worker);
      const gone = await done(cluster, worker);
      await cluster.delete(gone.id);
      await cluster.pass(DAY / 2);
      const events = await cluster.seen.events({ job_id: id, after_id: 0, limit: 100 });
      if (restarted) await cluster.stop();
      cluster.clock.jump(YEAR);
      if (restarted) await cluster.start();
      // In what the clock tells as a year later, another start makes it no more credible.
      await cluster.pass(DAY / 4);
      await cluster.restart();
      await cluster.pass(DAY / 4);
      cluster.clock.jump(-YEAR);
      await cluster.pass(2 * DAY);
      assert.equal((await cluster.job(id)).status, 'succeeded');
      assert.equal((await cluster.port.reads.artifact(model)).sha256, sha256);
      assert.equal(await isThere(cluster, sha256), true);
      assert.deepEqual(await cluster.seen.events({ job_id: id, after_id: 0, limit: 100 }), events);
      await cluster.pass(90 * DAY);
      assert.equal(await isKept(cluster, id), false, 'by the right clock it goes in its time');
    });
  }

  it('and a year behind makes nothing older that ended meanwhile', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, KEEP);
    const { id } = await cluster.submit();
    const lease = await worker.run();
    cluster.clock.jump(-YEAR);
    const other = await done(cluster, worker);
    await worker.complete(lease);
    cluster.clock.jump(YEAR);
    await cluster.pass(20 * DAY);
    for (const job of [id, other.id]) {
      const { created_at, updated_at } = await cluster.job(job);
      assert.ok(updated_at >= created_at);
    }
  });

  it('is believed at last: a server that was away for a year deletes what is due a day later', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, KEEP);
    const { id } = await done(cluster, worker);
    await cluster.pass(DAY);
    await cluster.stop();
    cluster.clock.jump(YEAR);
    await cluster.start();
    // As a machine runs that is switched off every night.
    for (let day = 0; day < 3; day++) {
      await cluster.pass(DAY / 4);
      assert.equal(await isKept(cluster, id), day < 2, `day ${day}`);
      await cluster.stop();
      cluster.clock.jump(0.7 * DAY);
      await cluster.start();
    }
  });

  it('is believed at last also where the server runs for a few hours every other day, or once a week', async (t) => {
    for (const [hours, days] of [
      [9, 2],
      [20, 7],
    ] as const) {
      const { cluster, worker } = await clusterKeeping(t, KEEP);
      const { id } = await done(cluster, worker);
      for (let day = 0; day < 120; day += days) {
        await cluster.pass((hours / 24) * DAY);
        await cluster.stop();
        cluster.clock.jump((days - hours / 24) * DAY);
        await cluster.start();
      }
      assert.equal(await isKept(cluster, id), false, `${hours} h every ${days} days`);
    }
  });

  it('and set back lets no job be older than those that were deleted before it', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const first = await cluster.submit();
    await worker.complete(await worker.run());
    const newest = await done(cluster, worker);
    const { created_at } = await cluster.job(newest.id);
    await cluster.delete(newest.id);
    await cluster.stop();
    cluster.clock.jump(-YEAR);
    await cluster.start();
    const next = await cluster.submit();
    assert.ok(next.created_at > created_at);
    assert.ok(created_at > first.created_at);
  });
});
