import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { holdObjects } from '../../actors/server/blobs/reading-lock.ts';
import type { EventView } from '../../machines/schema/views.ts';
import { job, type TestCluster } from '../support/cluster.ts';
import {
  assertRowsFit,
  clusterKeeping,
  count,
  DAY,
  done,
  download,
  isThere,
  says,
  upload,
} from './support.ts';

const typesOf = (events: { type: string }[]) => events.map(({ type }) => type);

describe('what is kept for some time', () => {
  test('stays for ever where nobody says a time, but for workers', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, { forgetWorkers: 30 * DAY });
    const { id, model } = await done(cluster, worker);
    const before = await count(cluster, 'events');
    await cluster.pass(40 * DAY);
    assert.equal((await cluster.job(id)).status, 'succeeded');
    assert.match(await download(cluster, model), /^model/);
    assert.deepEqual(await cluster.seen.workers(), []);
    const types = typesOf(await cluster.seen.events({ after_id: 0, limit: 5000 }));
    assert.deepEqual(types.slice(before), ['worker_dead', 'worker_forgotten']);
    await assert.rejects(worker.heartbeat(), { code: 'unknown_id' });
    await assertRowsFit(cluster);
  });

  test('goes one after the other: logs, artifacts and events of a job, then the job', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {
      ...{ keepLogs: 10 * DAY, keepArtifacts: 20 * DAY, keepEvents: 30 * DAY, keepJobs: 40 * DAY },
    });
    const { id, model, logs, lease, sha256 } = await done(cluster, worker);
    const events = () => cluster.seen.events({ job_id: id, after_id: 0, limit: 100 });
    const all = await events();
    await cluster.pass(9 * DAY);
    assert.deepEqual(await events(), all);

    await cluster.pass(2 * DAY);
    const left = await events();
    assert.deepEqual(
      typesOf(left),
      typesOf(all).map((type) => (type === 'log' ? 'gap' : type)),
    );
    const line = all.find(({ type }) => type === 'log')?.id;
    assert.deepEqual(left.find(({ type }) => type === 'gap')?.data, { from: line, to: line, count: 1 });
    const ofTask = { job_id: id, task_id: lease.task_id, limit: 100 };
    assert.deepEqual(
      typesOf(await cluster.seen.events({ ...ofTask, after_id: 0 })),
      typesOf(left).filter((type) => !type.startsWith('job_')),
      'who asks for one task is told, too',
    );
    assert.deepEqual(typesOf(await cluster.seen.events({ ...ofTask, after_id: line ?? 0 })), [
      'task_completed',
    ]);
    await assert.rejects(cluster.port.reads.artifact(logs), { code: 'artifact_expired' });
    assert.match(await download(cluster, model), /^model/);

    await cluster.pass(11 * DAY);
    await assert.rejects(cluster.port.reads.artifact(model), { code: 'artifact_expired' });
    const listed = await cluster.seen.jobArtifacts(id);
    assert.deepEqual(listed.map(({ role, expired_at }) => [role, typeof expired_at]).sort(), [
      ['best_model', 'number'],
      ['logs', 'number'],
      ['model', 'number'],
    ]);
    assert.equal(await isThere(cluster, sha256), false);
    await assertRowsFit(cluster);

    await cluster.pass(10 * DAY);
    const [gap, ...others] = await events();
    assert.deepEqual(others, []);
    const [from, to] = [all[0]?.id, all.at(-1)?.id];
    assert.deepEqual([gap?.type, gap?.id, gap?.data], ['gap', to, { from, to, count: all.length }]);

    await cluster.pass(10 * DAY);
    await assert.rejects(cluster.job(id), { code: 'unknown_id' });
    assert.equal(await count(cluster, 'tasks'), 0);
    assert.equal(await count(cluster, 'expired_artifacts'), 0);
    await assertRowsFit(cluster);
  });

  test('stays of a job that is in motion, pinned, or has a longer time of its own', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {
      ...{ keepLogs: DAY, keepArtifacts: DAY, keepEvents: DAY, keepJobs: DAY },
    });
    const pinned = await done(cluster, worker, { keep: 'forever' });
    const longer = await done(cluster, worker, { keep: '10d' });
    const shorter = await done(cluster, worker, { keep: '6h' });
    const queued = await cluster.submit(job({ requirements: { labels: { site: 'elsewhere' } } }));
    await cluster.pass(DAY / 2);
    await assert.rejects(cluster.job(shorter.id), { code: 'unknown_id' });
    await cluster.pass(5 * DAY);
    for (const { id, model, logs } of [pinned, longer]) {
      assert.ok(typesOf(await cluster.seen.events({ job_id: id, after_id: 0, limit: 100 })).includes('log'));
      assert.match(await download(cluster, model), /^model/);
      assert.match(await download(cluster, logs), /^log/);
    }
    await cluster.pass(6 * DAY);
    await assert.rejects(cluster.job(longer.id), { code: 'unknown_id' });
    assert.equal((await cluster.job(pinned.id)).status, 'succeeded');
    assert.equal((await cluster.job(queued.id)).id, queued.id);
    await cluster.keep(pinned.id, null);
    await cluster.pass(2 * DAY);
    await assert.rejects(cluster.job(pinned.id), { code: 'unknown_id' });
    await assertRowsFit(cluster);
  });

  test('is an upload that no job ever named', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, { keepArtifacts: 5 * DAY });
    const alone = await upload(cluster, 'never named');
    const named = await upload(cluster, 'named');
    await done(cluster, worker, { dataset: { kind: 'artifact', artifact_id: named } });
    await cluster.pass(4 * DAY);
    assert.equal(await download(cluster, alone), 'never named');
    await cluster.pass(2 * DAY);
    await assert.rejects(cluster.port.reads.artifact(alone), { code: 'unknown_id' });
    assert.equal(await download(cluster, named), 'named');
  });
});

test('events that belong to no job go by their own time, and one row stands for all of them', async (t) => {
  const { cluster, worker } = await clusterKeeping(t, { keepEvents: 5 * DAY });
  const { id } = await done(cluster, worker);
  await cluster.delete(id);
  await cluster.pass(10 * DAY);
  const last = cluster.port.events.lastId;
  const left = await cluster.seen.events({ after_id: 0, limit: 100 });
  assert.deepEqual(typesOf(left), ['gap']);
  assert.deepEqual(left[0]?.data, { from: 1, to: last, count: last });
  const backwards = await cluster.seen.events({ after_id: 0, before_id: 3, limit: 100 });
  assert.deepEqual(backwards, [{ ...left[0], id: 1 }]);
  await cluster.restart();
  await cluster.submit();
  assert.deepEqual((await cluster.seen.events({ after_id: last, limit: 100 }))[0]?.id, last + 1);
  await assertRowsFit(cluster);
});

test('no bytes are removed while a backup copies objects, however long that takes', async (t) => {
  const { cluster, worker } = await clusterKeeping(t, {});
  const { id, sha256 } = await done(cluster, worker);
  const held = await holdObjects(cluster.stateDir);
  await cluster.delete(id);
  await cluster.pass(3 * DAY);
  assert.equal(await isThere(cluster, sha256), true);
  await held.release();
  await cluster.pass(DAY / 2);
  assert.equal(await isThere(cluster, sha256), false);
});

test('beyond --max-disk-gb the oldest jobs go, after a warning', async (t) => {
  const { cluster, worker } = await clusterKeeping(t, { maxDiskBytes: 6_000_000 });
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) {
    ids.push((await done(cluster, worker, { name }, name.repeat(800_000))).id);
    await cluster.clock.advance(1);
  }
  await cluster.keep(ids[0] as string, 'forever');
  await cluster.clock.advance(20);
  await cluster.settled();
  const types = typesOf(await cluster.seen.events({ after_id: 0, limit: 500 }));
  assert.ok(types.includes('disk_limit_near'));
  assert.ok(!types.includes('job_deleted'), 'the warning comes first');
  await cluster.pass(DAY / 2);
  await assert.rejects(cluster.job(ids[1] as string), { code: 'unknown_id' });
  assert.equal((await cluster.job(ids[0] as string)).id, ids[0], 'pinned');
  assert.equal((await cluster.job(ids[3] as string)).id, ids[3], 'the newest');
});

test('beyond --max-disk-gb the oldest go in their order, also while the clock is not believed yet', async (t) => {
  const { cluster, worker } = await clusterKeeping(t, { maxDiskBytes: 6_000_000 });
  await cluster.pass(DAY / 2);
  await cluster.stop();
  cluster.clock.jump(30 * DAY);
  await cluster.start();
  await cluster.pass(DAY / 8);
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd'])
    ids.push((await done(cluster, worker, { name }, name.repeat(800_000))).id);
  await cluster.pass(DAY / 2);
  await assert.rejects(cluster.job(ids[0] as string), { code: 'unknown_id' });
  assert.equal((await cluster.job(ids[3] as string)).id, ids[3], 'the newest');
});

describe('who reads events backwards', () => {
  /** All that is read from an id on, by a client that goes on before the first event that it got. */
  async function readBackwards(cluster: TestCluster, job_id: string, before: number, limit: number) {
    const read: EventView[] = [];
    for (let before_id = before; ; before_id = read[0]?.id ?? 0) {
      const page = await cluster.seen.events({ job_id, after_id: 0, before_id, limit });
      if (page.length === 0) return read;
      assert.ok(page.length <= limit && (page.at(-1)?.id ?? 0) < before_id);
      read.unshift(...page);
    }
  }

  test('from an id among deleted ones gets their gap at the place of the first of them, however long the pages are', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, { keepLogs: 10 * DAY, keepEvents: 20 * DAY });
    const { id } = await cluster.submit(
      job({ pipeline: null, pipelines: [1, 2].map((inline) => ({ kind: 'inline_json', inline })) }),
    );
    for (let i = 0; i < 2; i++) {
      const task = await worker.run();
      await says(cluster, worker, task, 'a line');
      await worker.complete(task);
    }
    const all = await cluster.seen.events({ job_id: id, after_id: 0, limit: 100 });
    const [first, last] = all.filter(({ type }) => type === 'log').map((event) => event.id) as [
      number,
      number,
    ];
    const between = all.find(({ type }) => type === 'task_completed')?.id ?? 0;
    assert.ok(first < between && between < last);
    const expected = (from: number) =>
      all.filter((event) => event.id < from).map(({ id: at, type }) => [at, type === 'log' ? 'gap' : type]);

    await cluster.pass(11 * DAY);
    for (const limit of [1, 2, 3, 100])
      for (const before of [first + 1, between, between + 1, last]) {
        const read = await readBackwards(cluster, id, before, limit);
        assert.deepEqual(
          read.map((event) => [event.id, event.type]),
          expected(before),
          `before ${before}, ${limit} at a time`,
        );
        const gap = read.find(({ type }) => type === 'gap');
        assert.deepEqual(gap?.data, { from: first, to: last, count: 2 });
      }
    assert.deepEqual(
      await readBackwards(cluster, id, first, 100),
      all.slice(
        0,
        all.findIndex((e) => e.id === first),
      ),
    );

    await cluster.pass(11 * DAY);
    const [gap, ...others] = await readBackwards(cluster, id, between, 100);
    assert.deepEqual([gap?.id, gap?.type, others], [all[0]?.id, 'gap', []]);
  });
});
