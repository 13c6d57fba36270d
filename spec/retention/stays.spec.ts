import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { holdObjects } from '../../actors/server/blobs/reading-lock.ts';
import { asking, known, RESULT } from '../supervisor/reuse-support.ts';
import { clusterKeeping, count, DAY, done, isThere, upload } from './support.ts';

const MB = 1_000_000;
/** As many bytes, unlike those of another sign. */
const bytes = (sign: number, size = MB) => String(sign).repeat(size);
const dataset = (artifact_id: string) => ({ kind: 'artifact', artifact_id });

describe('no more is deleted than has to be', () => {
  /** Those of some jobs that are there after a pass that may delete and another that sees what it brought. */
  async function left({ cluster }: Awaited<ReturnType<typeof clusterKeeping>>, ids: readonly string[]) {
    for (const seconds of [20, 3700, 3700]) {
      await cluster.clock.advance(seconds);
      await cluster.settled();
    }
    const there = await Promise.all(
      ids.map((id) =>
        cluster.job(id).then(
          () => true,
          () => false,
        ),
      ),
    );
    return there.filter(Boolean).length;
  }

  it('the oldest jobs go with the datasets that only they have, until the limit of the disk is kept', async (t) => {
    const scene = await clusterKeeping(t, { maxDiskBytes: 8 * MB });
    const { cluster, worker } = scene;
    const ids: string[] = [];
    for (let i = 0; i < 9; i++) {
      const data = await upload(cluster, bytes(i));
      ids.push((await done(cluster, worker, { dataset: dataset(data) })).id);
      await cluster.clock.advance(1);
    }
    const stayed = await left(scene, ids);
    assert.ok(stayed >= 6 && stayed < 9, `${stayed} of 9 stayed`);
  });

  it('what goes by its own time in the same pass is not counted against others', async (t) => {
    const scene = await clusterKeeping(t, { maxDiskBytes: 8 * MB, keepJobs: 5 * DAY });
    const { cluster, worker } = scene;
    const run = async (sign: number) => (await done(cluster, worker, {}, bytes(sign, 0.9 * MB))).id;
    for (let i = 0; i < 6; i++) await run(i);
    await cluster.clock.advance(5 * DAY - 3000);
    const rested = await cluster.register({ slots_total: 4 });
    const young: string[] = [];
    for (let i = 6; i < 10; i++) young.push((await done(cluster, rested, {}, bytes(i, 0.9 * MB))).id);
    assert.equal(await left(scene, young), 4);
  });

  it('uploads that no job has named delete no job', async (t) => {
    const scene = await clusterKeeping(t, { maxDiskBytes: 8 * MB });
    const { cluster, worker } = scene;
    const ids = [await done(cluster, worker), await done(cluster, worker)].map(({ id }) => id);
    for (let i = 0; i < 9; i++) await upload(cluster, bytes(i));
    assert.equal(await left(scene, ids), 2);
  });

  it('bytes in their day of grace stay while a backup reads, also when an upload of the same bytes breaks off', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const text = 'again and again';
    const { id, sha256 } = await done(cluster, worker, {}, text);
    const lock = await holdObjects(cluster.stateDir);
    await cluster.delete(id);
    await cluster.settled();
    assert.ok((await count(cluster, 'unnamed_objects')) > 0);
    const writer = await cluster.port.blobs.create();
    await writer.write(Buffer.from(text));
    await writer.finish();
    await writer.abort();
    assert.equal(await isThere(cluster, sha256), true);
    await lock.release();
  });

  it('bytes that an upload has when they are to go stay until it is known that it breaks off, and go then', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const text = 'once more';
    const { id, sha256 } = await done(cluster, worker, {}, text);
    await cluster.delete(id);
    const upload = await cluster.port.blobs.place(Buffer.from(text));
    await cluster.pass(3 * DAY);
    assert.equal(await isThere(cluster, sha256), true);
    await upload.release();
    await cluster.pass(DAY);
    assert.equal(await isThere(cluster, sha256), false);
    assert.equal(await count(cluster, 'unnamed_objects'), 0);
  });

  it('a worker that is drained is not forgotten: its return would be without the order', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, { forgetWorkers: 30 * DAY });
    await cluster.drain(worker.id);
    await cluster.pass(31 * DAY);
    await cluster.port.reads.worker(worker.id);
  });
});

describe('results that are reused are whole', () => {
  /** What becomes of a job whose equal ended long before, with a model and a log file. */
  async function later(t: TestContext, keep: { keepArtifacts?: number; keepLogs?: number }) {
    const { cluster, worker } = await clusterKeeping(t, keep);
    await cluster.submit(known());
    const lease = await worker.run();
    const model = await upload(cluster, 'the model', { lease, role: 'model', worker });
    const logs = await upload(cluster, 'the log', { lease, role: 'logs', worker });
    const artifacts = { model, logs, workspace: null };
    await worker.complete(lease, { ...RESULT, artifacts } as never);
    await cluster.pass(1.2 * DAY);
    await cluster.register();
    return (await cluster.job((await cluster.submit(asking())).id)).status;
  }

  it('their job is deleted after the jobs that have them, and the refusal names one of these', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const first = await cluster.submit(known());
    await worker.complete(await worker.run(), RESULT);
    const [one, other] = [await cluster.submit(asking()), await cluster.submit(asking())];
    assert.equal((await cluster.job(other.id)).status, 'succeeded');
    for (const [id, left] of [
      [one.id, other.id],
      [other.id, null],
    ] as const) {
      const users = left === null ? [id] : [id, left];
      await assert.rejects(cluster.delete(first.id), (error: { code?: string; message?: string }) => {
        assert.equal(error.code, 'job_in_use');
        return users.some((user) => error.message?.includes(user));
      });
      await cluster.delete(id);
    }
    await cluster.delete(first.id);
  });

  it('their job stays as long as one that is kept for ever has them', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, { keepJobs: DAY });
    const first = await cluster.submit(known());
    await worker.complete(await worker.run(), RESULT);
    const { id } = await cluster.submit(asking());
    await cluster.keep(id, 'forever');
    await cluster.pass(3 * DAY);
    assert.equal((await cluster.job(first.id)).status, 'succeeded');
    await cluster.keep(id, null);
    await cluster.pass(0.5 * DAY);
    for (const gone of [first.id, id]) await assert.rejects(cluster.job(gone), { code: 'unknown_id' });
  });

  it('not of a task whose model has had its time, though its bytes are still there', async (t) => {
    assert.equal(await later(t, { keepArtifacts: DAY }), 'queued');
  });

  it('also without the log file, which had its time before', async (t) => {
    assert.equal(await later(t, { keepLogs: DAY }), 'succeeded');
  });
});
