import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { startBackend } from '../../actors/server/backend.ts';
import { asSomebodyWithoutPower } from '../support/as-nobody.ts';
import { temporaryDirectory } from '../support/server.ts';

const start = (stateDir: string) =>
  startBackend({ stateDir, log: pino({ level: 'silent' }), maxArtifactBytes: 1000 });

describe('the state directory', () => {
  test('belongs to one server: a second one is refused with a clear message', async (t) => {
    const dir = await temporaryDirectory(t);
    const first = await start(dir);
    await assert.rejects(start(dir), { code: 'state_in_use', message: /in use by another process/ });
    await first.stop();
    await (await start(dir)).stop();
  });

  test('of a newer program is refused and left as it is', async (t) => {
    const dir = await temporaryDirectory(t);
    await (await start(dir)).stop();
    const db = await open({ filename: join(dir, 'store.sqlite'), driver: sqlite3.Database });
    await db.exec('PRAGMA user_version = 9999');
    await db.close();
    await assert.rejects(start(dir), { code: 'store_too_new', message: /9999, newer than this program/ });
    await assert.rejects(start(dir), { code: 'store_too_new' });
  });

  test('is brought to this version by migrations each of which has a number of its own', async () => {
    const names = await readdir(new URL('../../actors/server/store/schema/', import.meta.url));
    const numbers = names.map((name) => name.slice(0, 4));
    assert.deepEqual(numbers, [...new Set(numbers)], 'a store of the number would lack one of two');
  });

  test('that is a file, or below one, is refused', async (t) => {
    const dir = await temporaryDirectory(t);
    const file = join(dir, 'file');
    await writeFile(file, 'x');
    await assert.rejects(start(file), {
      code: 'state_unwritable',
      message: /cannot write to the state directory/,
    });
  });

  test('where nothing can be made is refused, and not tried for ever', async () => {
    await assert.rejects(start('/proc/nowhere/state'), { code: 'state_unwritable', message: /ENOENT/ });
  });

  test('whose store is not a database is refused', async (t) => {
    const dir = await temporaryDirectory(t);
    await writeFile(
      join(dir, 'store.sqlite'),
      'not a database, but long enough to be looked at '.repeat(100),
    );
    await assert.rejects(start(dir), { code: 'store_unreadable' });
  });

  test('without write permission is refused', async (t) => {
    const dir = join(await temporaryDirectory(t), 'locked');
    await mkdir(dir);
    await chmod(dir, 0o500);
    await asSomebodyWithoutPower(() => assert.rejects(start(dir), { code: 'state_unwritable' }));
  });

  test('is in write-ahead-log mode, and each commit is followed by an fsync', async (t) => {
    const dir = await temporaryDirectory(t);
    const { openWriter } = await import('../../actors/server/store/open.ts');
    const db = await openWriter(join(dir, 'store.sqlite'));
    t.after(() => db.close());
    const pragma = async (name: string) => Object.values((await db.get(`PRAGMA ${name}`)) as object)[0];
    assert.deepEqual([await pragma('journal_mode'), await pragma('synchronous')], ['wal', 2]);
  });
});
