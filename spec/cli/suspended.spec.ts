import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startTestServer } from '../support/server.ts';
import { run } from './cli-support.ts';
import { playWorker } from './played-worker.ts';

const REASON = 'its disk is full \u001b[2J(ENOSPC)';

describe('a suspended worker', () => {
  it('is shown as suspended, with its reason, until it asks again', async (t) => {
    const server = await startTestServer(t);
    const well = await playWorker(server.client, 1, { name: 'well' });
    const { worker_id } = await playWorker(server.client, 1, { name: 'ill' });
    const beat = (suspended: string | null) =>
      server.client.call('heartbeat', {
        params: { id: worker_id },
        body: { active: [], ...(suspended !== null && { suspended }) },
      });
    const shown = async (...argv: string[]) => {
      const { code, stdout } = await run([...argv, '--server', server.url]);
      assert.equal(code, 0);
      return stdout;
    };
    await beat(REASON);
    const list = await shown('workers');
    assert.match(list, /ill +suspended/);
    assert.match(list, /well +alive/);
    assert.match(list, /^ill is suspended: its disk is full .*\(ENOSPC\)$/m);
    assert.ok(!list.includes('\u001b'), 'nothing of the reason drives the terminal');
    assert.doesNotMatch(list, /well is suspended/);
    const [, told] = JSON.parse(await shown('workers', '--json')) as { suspended: string | null }[];
    assert.equal(told?.suspended, REASON);
    assert.match(await shown('top', '--once'), /2 alive \(1 suspended\), 0 dead/);

    await beat(null);
    assert.doesNotMatch(await shown('workers'), /suspended/);
    assert.doesNotMatch(await shown('top', '--once'), /suspended/);
    assert.ok(well.worker_id !== worker_id);
  });
});
