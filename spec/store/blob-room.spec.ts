import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { BlobStore } from '../../actors/server/blobs/blob-store.ts';
import { DiskSpace } from '../../actors/server/blobs/disk-space.ts';
import { filesBelow, openState } from './blob-support.ts';

describe('the room for artifacts', () => {
  const MIB = 1024 * 1024;

  /** A disk of so many bytes, of which a store takes what it writes and others take `used`. */
  async function disk(t: TestContext, size: number, reserveBytes: number) {
    const others = { used: 0, looks: 0 };
    const opened = await openState(t, {
      maxBytes: 1024 * MIB,
      reserveBytes,
      free: async () => {
        others.looks++;
        // Where uploads come from before where they go to, and by inode: one that moves meanwhile counts, and once.
        const written = new Map<number, number>();
        for (const folder of ['uploads', '.']) {
          for (const { parentPath, name } of await filesBelow(join(opened.state, folder))) {
            const entry = await stat(join(parentPath, name)).catch(() => null);
            if (entry) written.set(entry.ino, entry.size);
          }
        }
        return size - [...written.values()].reduce((sum, bytes) => sum + bytes, 0) - others.used;
      },
    });
    return { ...opened, others };
  }

  /** Uploads so many bytes in small pieces; the code of a refusal, if there is one. */
  async function upload({ blobs }: Awaited<ReturnType<typeof disk>>, bytes: number, expected = 0) {
    let writer: Awaited<ReturnType<BlobStore['create']>> | undefined;
    try {
      writer = await blobs.create(expected);
      const piece = randomBytes(64 * 1024);
      for (let done = 0; done < bytes; done += piece.length) await writer.write(piece);
      await writer.finish();
      await writer.keep();
      return 'kept';
    } catch (fault) {
      await writer?.abort();
      return (fault as { code: string }).code;
    }
  }

  test('ends where the reserve begins, whether the length was declared or not', async (t) => {
    for (const declared of [true, false]) {
      const it = await disk(t, 3 * MIB, MIB);
      const send = (bytes: number) => upload(it, bytes, declared ? bytes : 0);
      assert.equal(await send(1.5 * MIB), 'kept');
      assert.equal(await send(MIB), 'no_room');
      assert.deepEqual(await it.uploads(), []);
      assert.equal(await send(MIB / 4), 'kept');
    }
  });

  test('is counted together for uploads at the same time', async (t) => {
    for (const declared of [true, false]) {
      const it = await disk(t, 4 * MIB, MIB);
      const all = await Promise.all([1, 2, 3].map(() => upload(it, 1.25 * MIB, declared ? 1.25 * MIB : 0)));
      assert.ok(all.filter((end) => end === 'kept').length <= 2, all.join());
      assert.ok(all.includes('no_room'));
      assert.equal(await upload(it, MIB / 4), 'kept', 'what was promised to the refused is given back');
    }
  });

  test('is not granted twice for bytes that are written while the disk is measured', async () => {
    const looks: Array<(free: number) => void> = [];
    const room = new DiskSpace(0, () => new Promise((resolve) => looks.push(resolve)));
    const first = room.reserve(4 * MIB);
    looks.shift()?.(10 * MIB);
    const upload = await first;
    const second = room.reserve(4 * MIB);
    // The disk was looked at before any of this, and is slow to tell.
    upload.wrote(4 * MIB);
    const more = upload.need(4 * MIB);
    looks.pop()?.(6 * MIB);
    await more;
    upload.wrote(4 * MIB);
    looks.shift()?.(10 * MIB);
    await assert.rejects(second, { code: 'no_room' });
  });

  test('is gone when other programs have taken it, before an upload and in its middle', async (t) => {
    const it = await disk(t, 64 * MIB, MIB);
    const writer = await it.blobs.create(40 * MIB);
    it.others.used = 60 * MIB;
    const piece = randomBytes(MIB);
    await assert.rejects(
      async () => {
        for (let i = 0; i < 40; i++) await writer.write(piece);
      },
      { code: 'no_room' },
    );
    await writer.abort();
    it.others.used = 63.5 * MIB;
    await assert.rejects(it.blobs.create(), { code: 'no_room', message: /1 MiB .*--reserve-mb/ });
  });

  test('is measured seldom, however small the pieces are', async (t) => {
    const it = await disk(t, 1024 * MIB, MIB);
    assert.equal(await upload(it, 40 * MIB), 'kept');
    assert.ok(it.others.looks < 10, `${it.others.looks} looks at the disk for 640 pieces`);
  });
});
