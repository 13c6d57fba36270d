import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { mayRemoveObjects } from '../../actors/server/blobs/reading-lock.ts';
import { acquireLock } from '../../actors/shared/lock.ts';
import { run } from '../cli/cli-support.ts';
import { asSomebodyWithoutPower, NOBODY, requiresRoot } from '../support/as-nobody.ts';
import { TestCluster } from '../support/cluster.ts';
import { places } from './backup-support.ts';

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
