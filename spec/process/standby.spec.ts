import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ClusterClient } from '../../gateway/client/client.ts';
import { emptyDatabase } from '../store/drivers.ts';
import { job } from '../support/cluster.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { startServerProgram } from '../support/server-program.ts';

async function startBeside(t: TestContext, store: string) {
  const server = await startServerProgram({ state: await temporaryDirectory(t), store });
  const client = new ClusterClient({ server: server.url });
  t.after(async () => {
    await client.close();
    await server.kill();
  });
  return { server, client };
}

async function names(client: ClusterClient): Promise<(string | null)[]> {
  return (await client.call('listJobs')).map(({ name }) => name);
}

const submit = (client: ClusterClient, name: string) =>
  client.call('submitJob', { body: job({ name }) as never });

describe('of two servers on one database', requires('postgresql'), () => {
  test('the one that was stopped for long awakes to hear that the other leads, writes nothing, and ends', async (t) => {
    const store = await emptyDatabase();
    const first = await startBeside(t, store);
    const second = await startBeside(t, store);
    await second.server.announced('standing_by');
    await submit(first.client, 'before');
    first.server.child.kill('SIGSTOP');
    // Lies in its socket until it awakes.
    const late = submit(first.client, 'late').then(
      () => 'accepted',
      () => 'refused',
    );
    await second.server.announced('leading');
    await submit(second.client, 'after');
    first.server.child.kill('SIGCONT');
    assert.deepEqual(await first.server.ended, { code: 75, signal: null });
    assert.equal(await late, 'refused');
    assert.match(
      first.server.stderr,
      /error: another server has taken the store over: the one that leads is at http:/,
    );
    assert.deepEqual((await names(second.client)).sort(), ['after', 'before']);
    // Started again, it stands by.
    const again = await startBeside(t, store);
    await again.server.announced('standing_by');
  });
});
