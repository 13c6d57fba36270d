import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { InputCache } from '../../actors/worker/inputs/cache/cache.ts';
import { copyOf } from '../../actors/worker/inputs/cache/copy.ts';
import { Entries } from '../../actors/worker/inputs/cache/entries.ts';
import { tryLock } from '../../actors/worker/inputs/cache/entry-lock.ts';
import { Eviction } from '../../actors/worker/inputs/cache/eviction.ts';
import { requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { atEnd, exists, temporaryFolder } from './folder.ts';
import { silent } from './quick.ts';
import { smallDisk } from './small-disk.ts';

const MIB = 1024 ** 2;
const never = new AbortController().signal;

/** The cache of one process. `fills` lists the keys that were filled, in this order. */
async function openCache(t: TestContext, folder: string, limitBytes = 1024 * MIB) {
  const cache = new InputCache({ folder, limitBytes, log: silent });
  await cache.open();
  atEnd(t, () => cache.close());
  const fills: string[] = [];
  /** An entry with a file `x.csv` that begins with its key, and one in a folder. */
  const use = (key: string, bytes = 20, signal = never) =>
    cache.use(
      key,
      async (draft) => {
        fills.push(key);
        await mkdir(join(draft, 'data', 'set', 'deep'), { recursive: true });
        await writeFile(join(draft, 'data', 'set', 'x.csv'), key.padEnd(bytes, '.'));
        await writeFile(join(draft, 'data', 'set', 'deep', 'y.csv'), 'y');
        return 'data/set';
      },
      signal,
    );
  const kept = async () => (await readdir(join(folder, 'entries'))).sort();
  return { cache, use, fills, kept };
}

const textOf = (folder: string) => readFile(join(folder, 'x.csv'), 'utf8');

/** What another process is given when it tries to take a lock: shared, and alone. */
async function triedElsewhere(path: string): Promise<[shared: boolean, alone: boolean]> {
  const program = `
    import { tryLock } from ${JSON.stringify(new URL('../../actors/worker/inputs/cache/entry-lock.ts', import.meta.url))};
    const had = [];
    for (const mode of ['shared', 'exclusive']) {
      const lock = await tryLock(process.argv[1], mode);
      had.push(lock !== null);
      await lock?.release();
    }
    console.log(JSON.stringify(had));`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program, path];
  return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout);
}

describe('the lock of an entry', () => {
  it('that one process had alone it may go on to share: others share it then, none has it alone', async (t) => {
    const path = join(await temporaryFolder(t), 'lock');
    const lock = await tryLock(path, 'exclusive');
    assert.ok(lock);
    assert.deepEqual(await triedElsewhere(path), [false, false]);
    await lock.share();
    assert.deepEqual(await triedElsewhere(path), [true, false]);
    await lock.release();
    assert.deepEqual(await triedElsewhere(path), [true, true]);
  });
});

describe('a cache that is to keep nothing', () => {
  it('fetches once what is used once, however much room is made meanwhile, here or by another process, and keeps it no longer than it is used', async (t) => {
    const folder = await temporaryFolder(t);
    const { cache, use, fills, kept } = await openCache(t, folder, 0);
    const another = await openCache(t, folder, 0);
    const keys = Array.from({ length: 30 }, (_, i) => `k${i}`);
    let isOver = false;
    const others = [cache, cache, another.cache, another.cache].map(async (one) => {
      while (!isOver && fills.length <= keys.length) await one.makeRoom();
    });
    for (const key of keys) {
      const held = await use(key);
      assert.equal(await textOf(held.path), key.padEnd(20, '.'));
      await held.release();
    }
    isOver = true;
    await Promise.all(others);
    assert.deepEqual(fills, keys);
    await until('nothing to be kept', async () => (await kept()).length === 0);
  });
});

describe('a look for what is to go', () => {
  async function look(folder: string, entries: Entries, limitBytes: number) {
    const told = { isWanted: () => false, onRemove: () => {} };
    const eviction = new Eviction(entries, { folder, limitBytes, log: silent }, told);
    eviction.start();
    await eviction.settled();
  }

  it('leaves what another process fills between the look and the lock', async (t) => {
    const folder = await temporaryFolder(t);
    const { use, fills, kept } = await openCache(t, folder);
    const broken = await use('a');
    await broken.release();
    await rm(join(folder, 'entries', 'a', 'entry.json'));
    const entries = new (class extends Entries {
      override async mark(key: string) {
        const mark = await super.mark(key);
        if (fills.length === 1) await (await use('a')).release();
        return mark;
      }
    })(folder);
    await look(folder, entries, MIB);
    assert.deepEqual([await kept(), fills], [['a'], ['a', 'a']]);
  });

  it('counts what another process has removed in the meantime, and removes no more than is too much', async (t) => {
    const folder = await temporaryFolder(t);
    const { use, kept } = await openCache(t, folder);
    for (const [i, key] of ['a', 'b', 'c'].entries()) {
      await (await use(key, MIB)).release();
      await utimes(join(folder, 'entries', key, 'entry.json'), i + 1, i + 1);
    }
    const entries = new (class extends Entries {
      override async remove(key: string) {
        await rm(join(folder, 'entries', key), { recursive: true });
        return super.remove(key);
      }
    })(folder);
    await look(folder, entries, 2.5 * MIB);
    assert.deepEqual(await kept(), ['b', 'c']);
  });
});

describe('an input that was changed in the cache', () => {
  /** What somebody does to it: a task that runs as root, a person, a program that cleans up. */
  const harms: [string, (folder: string) => Promise<unknown>][] = [
    [
      'has other bytes, although its size and its time are the same',
      async (folder) => {
        const file = join(folder, 'x.csv');
        const { atime, mtime } = await stat(file);
        await chmod(file, 0o600);
        await writeFile(file, 'b'.padEnd(20, '.'));
        await chmod(file, 0o400);
        await utimes(file, atime, mtime);
      },
    ],
    ['has lost a file', (folder) => rm(join(folder, 'deep', 'y.csv'))],
    ['has a file more', (folder) => writeFile(join(folder, 'deep', 'z.csv'), '')],
    [
      'has a file that is shorter',
      async (folder) => {
        await chmod(join(folder, 'deep', 'y.csv'), 0o600);
        await writeFile(join(folder, 'deep', 'y.csv'), '');
      },
    ],
    ['is gone, but for its mark', (folder) => rm(folder, { recursive: true })],
    ['has lost its mark', (folder) => rm(join(folder, '..', '..', 'entry.json'))],
    ['has a mark that is cut off', (folder) => writeFile(join(folder, '..', '..', 'entry.json'), '{"path"')],
    [
      'has a mark that names another path',
      async (folder) => {
        const file = join(folder, '..', '..', 'entry.json');
        await writeFile(file, (await readFile(file, 'utf8')).replace('data/set', '../../../'));
      },
    ],
  ];
  for (const [what, harm] of harms) {
    it(`is never handed out: it ${what}, and is filled anew, by the process that knew it and by the next`, async (t) => {
      for (const isNext of [false, true]) {
        const folder = await temporaryFolder(t);
        const { use, fills } = await openCache(t, folder);
        const first = await use('a');
        await first.release();
        await harm(first.path);
        assert.equal(await first.intact(), /has (lost its|a) mark/.test(what));
        const later = isNext ? await openCache(t, folder) : { use, fills };
        const again = await later.use('a');
        assert.equal(await textOf(again.path), 'a'.padEnd(20, '.'));
        assert.deepEqual(await readdir(join(again.path, 'deep')), ['y.csv']);
        assert.equal(await readFile(join(again.path, 'deep', 'y.csv'), 'utf8'), 'y');
        assert.deepEqual([...new Set([...fills, ...later.fills])], ['a']);
        assert.equal(fills.length + (isNext ? later.fills.length : 0), 2);
      }
    });
  }

  it('is kept when only times changed, as those of a copy of the folder: its bytes are what they were', async (t) => {
    const folder = await temporaryFolder(t);
    const { use, fills } = await openCache(t, folder);
    const first = await use('a');
    await first.release();
    await utimes(join(first.path, 'x.csv'), 1, 1);
    await (await use('a')).release();
    const next = await openCache(t, folder);
    await (await next.use('a')).release();
    assert.deepEqual([fills, next.fills], [['a'], []]);
  });

  it('is noticed by its holder, and filled anew once no task uses it any more', async (t) => {
    const { use, fills } = await openCache(t, await temporaryFolder(t));
    const first = await use('a');
    assert.equal(await first.intact(), true);
    await chmod(join(first.path, 'x.csv'), 0o600);
    await writeFile(join(first.path, 'x.csv'), 'z');
    assert.equal(await first.intact(), false);
    const stop = new AbortController();
    const given = use('a', 20, stop.signal);
    stop.abort();
    await assert.rejects(given, { name: 'AbortError' });
    const second = use('a');
    assert.equal(await textOf(first.path), 'z', 'nothing is taken from under a user');
    await first.release();
    assert.equal(await textOf((await second).path), 'a'.padEnd(20, '.'));
    assert.deepEqual(fills, ['a', 'a']);
  });
});

describe('a copy of an input', () => {
  it('can be written to, file by file, and changes nothing of the original', async (t) => {
    const { use } = await openCache(t, await temporaryFolder(t));
    const held = await use('a');
    const target = join(await temporaryFolder(t), 'copy');
    await copyOf(held.path, target, never);
    assert.equal((await stat(join(target, 'x.csv'))).mode & 0o777, 0o600);
    await writeFile(join(target, 'x.csv'), 'mine');
    await writeFile(join(target, 'deep', 'z.csv'), 'mine');
    await rm(join(target, 'deep', 'y.csv'));
    assert.equal(await held.intact(), true);
    await assert.rejects(copyOf(held.path, `${target}2`, AbortSignal.abort()), { name: 'AbortError' });
  });
});

describe('the limits of the cache', () => {
  it('are also a number of entries, however small', async (t) => {
    const folder = await temporaryFolder(t);
    const mark = JSON.stringify({ path: 'data/p', bytes: 1, content: '' });
    for (const part of ['entries', 'drafts', 'locks']) mkdirSync(join(folder, part));
    for (let n = 0; n < 10_001; n++) {
      mkdirSync(join(folder, 'entries', `k${n}`));
      writeFileSync(join(folder, 'entries', `k${n}`, 'entry.json'), mark);
    }
    const { cache, kept } = await openCache(t, folder, 1024 ** 4);
    await cache.close();
    assert.equal((await kept()).length, 9_000);
  });

  it(
    'leave to tasks half of what would be free on the disk without the cache',
    requires('small disk'),
    async (t) => {
      const disk = smallDisk(t, 16);
      const { cache, use, kept } = await openCache(t, disk.path);
      for (const key of ['a', 'b', 'c', 'd', 'e']) {
        await (await use(key, 3 * MIB)).release();
        await cache.trim();
      }
      assert.deepEqual(await kept(), ['d', 'e']);
      disk.fill(2 * MIB);
      await cache.trim();
      assert.deepEqual(await kept(), ['e'], 'what others write makes it smaller');
    },
  );

  it(
    'remove cached inputs to make room on the disk for another; only one that never fits fails',
    requires('small disk'),
    async (t) => {
      const disk = smallDisk(t, 16);
      const { cache, use, kept } = await openCache(t, disk.path);
      for (const key of ['a', 'b']) await (await use(key, 3 * MIB)).release();
      const held = await use('b');
      const large = await use('large', 12 * MIB);
      assert.deepEqual(await kept(), ['b', 'large'], 'what is used stays');
      await assert.rejects(use('c', 3 * MIB), { code: 'ENOSPC' });
      assert.deepEqual(await readdir(join(disk.path, 'drafts')), []);
      await large.release();
      await held.release();
      await cache.trim();
      await (await use('c', 3 * MIB)).release();
    },
  );

  it('do not count what an earlier version left behind, which is removed', async (t) => {
    const folder = await temporaryFolder(t);
    const old = join(folder, 'entries', 'corn-1234');
    await mkdir(join(old, 'data'), { recursive: true });
    await writeFile(join(old, 'entry.json'), JSON.stringify({ path: 'data/corn', bytes: 10 }));
    await openCache(t, folder);
    await until('it to be gone', async () => !(await exists(old)));
  });
});
