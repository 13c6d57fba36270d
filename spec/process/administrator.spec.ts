import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { type MadeBackup, makeBackup } from '../../actors/server/backup/backup.ts';
import { mayRemoveObjects } from '../../actors/server/blobs/reading-lock.ts';
import { acquireLock } from '../../actors/shared/lock.ts';
import { run } from '../cli/cli-support.ts';
import { asSomebodyWithoutPower, requiresRoot } from '../support/as-nobody.ts';
import { TestCluster } from '../support/cluster.ts';
import { NOBODY } from '../support/nobody.ts';
import { Program, ROOT } from '../support/program.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { namesIn, places } from './backup-support.ts';

describe('an administrator who is root, beside a server of another user', requiresRoot(), () => {
  /** The state directory of a server that has never removed an object, and is another user's. */
  async function stateOfAnother(t: TestContext): Promise<{ state: string; to: string }> {
    const cluster = await TestCluster.start(t);
    await cluster.submit();
    await cluster.stop();
    const { stateDir: state } = cluster;
    const { root, to } = await places(t);
    for (const path of [root, state]) chmodSync(path, 0o755);
    for (const name of ['.', ...(readdirSync(state, { recursive: true }) as string[])])
      chownSync(join(state, name), NOBODY, NOBODY);
    return { state, to };
  }

  for (const [command, ...flags] of [['backup', '--to'], ['check'], ['compact']]) {
    it(`leaves nothing after ${command} that the server cannot open`, async (t) => {
      const { state, to } = await stateOfAnother(t);
      const argv = [command as string, '--state', state, ...flags, ...(flags.length > 0 ? [to] : [])];
      const { code, stderr } = await run(argv, { program: 'jq-server' });
      assert.equal(code, 0, stderr);
      if (command === 'backup') assert.ok(existsSync(join(state, 'objects-lock.sqlite')));
      const others = (readdirSync(state, { recursive: true }) as string[]).filter(
        (name) => statSync(join(state, name)).uid !== NOBODY,
      );
      assert.deepEqual(others, []);
      await asSomebodyWithoutPower(async () => {
        await (await acquireLock(join(state, 'lock.sqlite'))).release();
        await (await mayRemoveObjects(state))?.release();
      });
    });
  }

  describe('that makes a backup in a folder of that user', () => {
    const own = async (t: TestContext) => {
      const { state, to } = await stateOfAnother(t);
      mkdirSync(to);
      chownSync(to, NOBODY, NOBODY);
      return { state, to };
    };
    // A process of its own: it may become another user for good.
    const backupProgram = (t: TestContext, state: string, to: string) => {
      const argv = [`${ROOT}bin/jq-server`, 'backup', '--state', state, '--to', to, '--json'];
      const program = new Program(process.execPath, argv);
      t.after(() => program.kill());
      return program;
    };
    const backupByRoot = async (t: TestContext, state: string, to: string): Promise<string> => {
      const program = backupProgram(t, state, to);
      assert.equal((await program.ended).code, 0, program.stderr);
      return (JSON.parse(program.stdout) as MadeBackup).path;
    };
    const others = (folder: string) =>
      (readdirSync(folder, { recursive: true }) as string[]).filter(
        (name) => statSync(join(folder, name)).uid !== NOBODY,
      );

    it('leaves one that the server can delete', async (t) => {
      const { state, to } = await own(t);
      const path = await backupByRoot(t, state, to);
      assert.deepEqual(others(to), []);
      await asSomebodyWithoutPower(async () => {
        await makeBackup({ state, to, keep: 1 });
      });
      assert.equal(existsSync(path), false);
    });

    it('and is killed meanwhile, leaves what the server goes on with', async (t) => {
      const { state, to } = await own(t);
      const db = await open({ filename: join(state, 'store.sqlite'), driver: sqlite3.Database });
      await db.exec('CREATE TABLE ballast AS SELECT randomblob(50000000) AS bytes');
      await db.close();
      const program = backupProgram(t, state, to);
      const begun = join(to, 'unfinished', 'store.sqlite');
      await until('its store to be there', () => existsSync(begun) || program.over);
      await program.kill();
      assert.ok(existsSync(begun), 'it was killed in the middle');
      assert.deepEqual([others(to), namesIn(to)], [[], []]);
      await asSomebodyWithoutPower(async () => {
        await makeBackup({ state, to });
      });
      assert.equal(namesIn(to).length, 1);
    });

    it('stays root where that user cannot get there', async (t) => {
      const { state, to } = await own(t);
      chmodSync(dirname(to), 0o700);
      await backupByRoot(t, state, to);
      assert.equal(namesIn(to).length, 1);
    });
  });

  it('gives nothing away that lies elsewhere under the name of a lock', async (t) => {
    const { state } = await stateOfAnother(t);
    const theirs = join(await temporaryDirectory(t), 'theirs');
    writeFileSync(theirs, 'of root');
    const name = join(state, 'lock.sqlite');
    rmSync(name);
    symlinkSync(theirs, name);
    await run(['compact', '--state', state], { program: 'jq-server' });
    assert.deepEqual([statSync(theirs).uid, readFileSync(theirs, 'utf8')], [0, 'of root']);
  });

  it('does not end the lock of a process that has the file open', async (t) => {
    const { state } = await stateOfAnother(t);
    const path = join(state, 'lock.sqlite');
    const lock = await acquireLock(path);
    for (let i = 0; i < 2; i++) await assert.rejects(acquireLock(path), { code: 'state_in_use' });
    const { code, stderr } = await run(['compact', '--state', state], { program: 'jq-server' });
    assert.deepEqual([code, /is in use by another process/.test(stderr)], [2, true], stderr);
    await lock.release();
  });
});
