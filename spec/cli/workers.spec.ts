import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { startTestServer } from '../support/server.ts';
import { run } from './cli-support.ts';
import { fakeServer } from './fake-server.ts';
import { playWorker } from './played-worker.ts';

const aWorker = (name: string, differs: object) => ({
  id: `worker_${name}`,
  name,
  slots_total: 1,
  slots_used: 0,
  last_seen_at: 1,
  labels: {},
  capabilities: {},
  version: {},
  cluster_version: null,
  version_divergent: false,
  ...differs,
});

/** A server with a worker for each way to stand; the last two say no more than servers of other make. */
async function crew(t: TestContext) {
  const workers = [
    aWorker('well', { status: 'alive', suspended: null, leaving: null }),
    aWorker('ill', { status: 'alive', suspended: 'its disk is full', leaving: null }),
    aWorker('ending', { status: 'alive', suspended: null, leaving: 'draining' }),
    aWorker('gone', { status: 'dead', suspended: null, leaving: 'stopped' }),
    aWorker('silent', { status: 'dead', suspended: null, leaving: 'draining' }),
    aWorker('other', { status: 'alive' }),
    aWorker('lost', { status: 'dead' }),
  ];
  const stats = {
    server_version: '1',
    api_version: 1,
    jobs_by_status: {},
    tasks_by_status: {},
    tasks_in_flight: 0,
    workers_alive: 4,
    workers_dead: 3,
  };
  const server = await fakeServer({
    'GET /v1/workers': { body: workers },
    'GET /v1/jobs': { body: [] },
    'GET /v1/stats': { body: stats },
    'GET /v1/stats/history': { body: [] },
  });
  t.after(() => server.stop());
  return server;
}

const STANDINGS = {
  well: 'alive',
  ill: 'suspended',
  ending: 'draining',
  gone: 'stopped',
  silent: 'dead',
  other: 'alive',
  lost: 'dead',
};

describe('the status of a worker', () => {
  it('is one word in the list and in top, and dead only for one that fell silent', async (t) => {
    const server = await crew(t);
    for (const command of ['workers', 'top']) {
      const { code, stdout } = await run([command, '--server', server.url]);
      assert.equal(code, 0);
      for (const [name, word] of Object.entries(STANDINGS)) {
        assert.match(stdout, new RegExp(`^${name} +${word} `, 'm'), `${command}: ${stdout}`);
      }
    }
  });

  it('is counted in top, where workers that are there are listed above those that have gone', async (t) => {
    const server = await crew(t);
    const { stdout } = await run(['top', '--server', server.url]);
    assert.match(stdout, /^workers +4 alive \(1 suspended, 1 draining\), 2 dead, 1 stopped /m);
    const order = [...stdout.matchAll(/^(\w+) +(?:alive|suspended|draining|stopped|dead) /gm)].map(
      ([, name]) => name,
    );
    assert.deepEqual(order.slice(4), ['silent', 'lost', 'gone']);
  });

  it('that is suspended says why in the list, whatever the reason holds', async (t) => {
    const server = await startTestServer(t);
    const { worker_id } = await playWorker(server.client, 1, { name: 'ill' });
    const body = { active: [], suspended: 'its disk is full \u001b[2J' };
    await server.client.call('heartbeat', { params: { id: worker_id }, body });
    const { stdout } = await run(['workers', '--server', server.url]);
    assert.match(stdout, /^ill is suspended: its disk is full /m);
    assert.ok(!stdout.includes('\u001b'));
  });
});
