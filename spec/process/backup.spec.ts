import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { acquireLock } from '../../actors/shared/lock.ts';
import { requires } from '../support/requires.ts';
import { SmallDisk } from '../support/small-disk.ts';
import {
  backup,
  check,
  inodeOf,
  made,
  namesIn,
  pathOf,
  places,
  restored,
  rot,
  serve,
} from './backup-support.ts';

describe('a backup', () => {
  it('is a complete state directory named after its time, and changes nothing of the server', async (t) => {
    const { root, state, to } = await places(t);
    const { submit, upload, client } = await serve(t, root, { state });
    const id = await submit(3);
    const { bytes } = await upload();
    const report = await made(state, to);
    assert.deepEqual(
      [report.objects.named, report.objects.copied, report.objects.copied_bytes, report.objects.linked],
      [1, 1, 1000, 0],
    );
    assert.deepEqual(namesIn(to), [report.path.split('/').at(-1)]);
    assert.deepEqual(readdirSync(report.path).sort(), ['backup.json', 'objects', 'store.sqlite']);
    assert.ok(existsSync(pathOf(report.path, bytes)));
    assert.equal((await check(report.path)).code, 0);
    assert.equal((await client.call('getJob', { params: { id } })).aggregate.num_queued, 3);
  });

  it('is made of a server that has stopped, and of one that was killed, with what only its write-ahead log has', async (t) => {
    for (const end of ['terminate', 'kill'] as const) {
      const { root, state, to, restored: target } = await places(t);
      const first = await serve(t, root, { state });
      const id = await first.submit();
      await first.server[end]();
      await restored((await made(state, to)).path, target);
      const second = await serve(t, root, { state: target });
      assert.equal((await second.client.call('getJob', { params: { id } })).id, id, end);
    }
  });

  it('shares the objects of the previous backup by hard links, and is complete without that one', async (t) => {
    const { root, state, to } = await places(t);
    const { upload } = await serve(t, root, { state });
    const old = await upload();
    const first = await made(state, to);
    const young = await upload();
    const second = await made(state, to);
    assert.deepEqual([second.objects.linked, second.objects.copied], [1, 1]);
    assert.equal(inodeOf(pathOf(second.path, old.bytes)), inodeOf(pathOf(first.path, old.bytes)));
    assert.notEqual(inodeOf(pathOf(second.path, old.bytes)), inodeOf(pathOf(state, old.bytes)));
    rmSync(first.path, { recursive: true });
    assert.equal((await check(second.path)).code, 0);
    assert.ok(existsSync(pathOf(second.path, young.bytes)));
  });

  it('takes an object that is damaged in the previous backup from the server, and the other way round', async (t) => {
    const { root, state, to } = await places(t);
    const { upload } = await serve(t, root, { state });
    const one = await upload();
    const other = await upload();
    const first = await made(state, to);
    rot(pathOf(first.path, one.bytes));
    rot(pathOf(state, other.bytes));
    const second = await made(state, to);
    assert.deepEqual([second.objects.linked, second.objects.copied], [1, 1]);
    assert.equal((await check(second.path)).code, 0);
  });

  it('reports an object that is damaged everywhere, and then deletes no older backup', async (t) => {
    const { root, state, to } = await places(t);
    const { upload, submit } = await serve(t, root, { state });
    await submit();
    await made(state, to);
    const { bytes, artifact_id } = await upload();
    rot(pathOf(state, bytes));
    const { code, stdout } = await backup(state, to, '--keep', '1');
    assert.equal(code, 1);
    assert.match(stdout, new RegExp(`of ${artifact_id}: damaged: its bytes have another hash`));
    assert.match(stdout, /not whole\n\nWhat is damaged was so where it was copied from/);
    assert.equal(namesIn(to).length, 2);
    await upload(bytes);
    await made(state, to, '--keep', '2');
    assert.equal(namesIn(to).length, 2);
    assert.equal((await check(join(to, namesIn(to)[1] as string))).code, 0);
  });

  it('keeps the given number of newest backups, and removes the rest of one whose deletion was interrupted', async (t) => {
    const { root, state, to } = await places(t);
    await serve(t, root, { state });
    mkdirSync(join(to, 'leaving', 'objects'), { recursive: true });
    for (let i = 0; i < 4; i++) await made(state, to);
    const before = namesIn(to);
    const last = await made(state, to, '--keep', '2');
    assert.deepEqual(namesIn(to), [before[3], last.path.split('/').at(-1)]);
    assert.equal(existsSync(join(to, 'leaving')), false);
  });

  it('is not made of a damaged store, and leaves the earlier ones', async (t) => {
    const { root, state, to } = await places(t);
    const { submit, server } = await serve(t, root, { state });
    for (let i = 0; i < 20; i++) await submit(20);
    await made(state, to);
    await server.terminate();
    const path = join(state, 'store.sqlite');
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(8192, 0xab), 0, 8192, Math.floor(statSync(path).size / 8192) * 4096);
    const { code, stderr } = await backup(state, to, '--keep', '1');
    assert.equal(code, 2);
    assert.match(stderr, /^error: the store in .* is damaged \(.*\); restore .* from a copy/m);
    assert.equal(namesIn(to).length, 1);
    assert.equal((await check(join(to, namesIn(to)[0] as string))).code, 0);
  });

  it('is refused where there is no store, where nothing can be written, and while another one is made', async (t) => {
    const { root, state, to } = await places(t);
    await serve(t, root, { state });
    assert.match((await backup(join(root, 'none'), to)).stderr, /there is no store in .*none; see --state/);
    const blocked = join(root, 'file');
    writeFileSync(blocked, '');
    assert.match(
      (await backup(state, join(blocked, 'x'))).stderr,
      /cannot write to .*; choose another folder/,
    );
    const other = await acquireLock(join(to, 'lock.sqlite'));
    t.after(() => other.release());
    assert.match(
      (await backup(state, to)).stderr,
      /another backup is being made in .*; wait until it has ended/,
    );
    assert.deepEqual(namesIn(to), []);
    await other.release();
    await made(state, to);
  });

  it('fails on a full disk with a clear message, leaves nothing behind, and the server goes on', {
    ...requires('small disk'),
  }, async (t) => {
    const disk = SmallDisk.mount(8);
    assert.ok(disk);
    t.after(() => disk.unmount());
    const { root, state } = await places(t);
    const { upload, submit } = await serve(t, root, { state });
    const to = join(disk.path, 'backups');
    await upload(randomBytes(1_000_000));
    await made(state, to);
    const before = disk.free;
    for (let i = 0; i < 8; i++) await upload(randomBytes(1_000_000));
    const { code, stderr } = await backup(state, to);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^error: there is no room for the backup in .*; free some there$/m);
    assert.equal(namesIn(to).length, 1);
    assert.ok(disk.free >= before - 64 * 1024, `${disk.free} of ${before} bytes are free`);
    disk.fill(100_000);
    assert.match((await backup(state, to)).stderr, /there is no room for the backup/);
    assert.equal((await check(join(to, namesIn(to)[0] as string))).code, 0);
    await submit();
  });
});
