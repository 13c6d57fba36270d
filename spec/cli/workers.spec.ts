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

const DRAINED = { by: 'olivia', at: 1, takes_back_at: null };

/** A server with a worker for each way to stand; the last two say no more than servers of other make. */
async function crew(t: TestContext) {
  const workers = [
    aWorker('well', { status: 'alive', suspended: null, leaving: null }),
    aWorker('ill', { status: 'alive', suspended: 'its disk is full', leaving: null }),
    aWorker('ending', { status: 'alive', suspended: null, leaving: 'draining' }),
    aWorker('gone', { status: 'dead', suspended: null, leaving: 'stopped' }),
    aWorker('silent', { status: 'dead', suspended: null, leaving: 'draining' }),
    aWorker('resting', { status: 'alive', suspended: null, leaving: null, drained: DRAINED }),
    aWorker('finishing', { status: 'alive', slots_used: 1, drained: DRAINED }),
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
  resting: 'drained',
  finishing: 'draining',
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
    assert.match(stdout, /^workers +6 alive \(1 suspended, 2 draining, 1 drained\), 2 dead, 1 stopped /m);
    const order = [...stdout.matchAll(/^(\w+) +(?:alive|suspended|draining|drained|stopped|dead) /gm)].map(
      ([, name]) => name,
    );
    assert.deepEqual(order.slice(6), ['silent', 'lost', 'gone']);
  });

  it('changes when an operator drains, resumes and removes it, by name or a part of its id', async (t) => {
    const server = await startTestServer(t);
    const { worker_id } = await playWorker(server.client, 1, { name: 'node-7' });
    const at = ['--server', server.url];
    const act = async (...argv: string[]) => {
      const { code, stdout, stderr } = await run(['workers', ...argv, ...at]);
      return { code, said: stdout + stderr };
    };
    assert.deepEqual(await act('drain', 'node-7', '--timeout', '30min'), {
      code: 0,
      said: 'node-7 is drained\n',
    });
    assert.match(
      (await act()).said,
      /^node-7 is given no tasks: drained by anonymous .*, until .* with what/m,
    );
    const [view] = await server.client.call('listWorkers');
    assert.equal(view?.drained?.takes_back_at, (view?.drained?.at ?? 0) + 1800);
    assert.deepEqual(await act('resume', worker_id.slice(-8)), { code: 0, said: 'node-7 is alive\n' });
    const twice = await act('resume', 'node-7');
    assert.equal(twice.code, 2);
    assert.match(twice.said, /is not drained/);
    const alive = await act('remove', 'node-7');
    assert.equal(alive.code, 2);
    assert.match(alive.said, /is alive; drain it, end its program/);
    const body = { active: [], leaving: 'stopped' as const };
    await server.client.call('heartbeat', { params: { id: worker_id }, body });
    assert.deepEqual(await act('remove', 'node-7'), { code: 0, said: `${worker_id} is removed\n` });
    assert.deepEqual(await server.client.call('listWorkers'), []);
  });

  it('is not changed by a command that is wrong', async (t) => {
    const server = await crew(t);
    for (const [argv, message] of [
      [['drain'], /positional/],
      [['drain', 'nobody'], /there is no worker 'nobody'/],
      [['drain', 'well', 'nobody'], /there is no worker 'nobody'/],
      [['drain', 'well', '--timeout', 'soon'], /'soon' is no length of time/],
      [['drian', 'well'], /there is no command 'workers drian', did you mean 'drain'\?/],
      [['resume', 'well', '--timeout', '3'], /Unsupported option/],
    ] as const) {
      const { code, stderr } = await run(['workers', ...argv, '--server', server.url]);
      assert.equal(code, 2, argv.join(' '));
      assert.match(stderr, message, argv.join(' '));
    }
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

it('the list of workers says until when they can run tasks, where one of them has an end', async (t) => {
  const list = async (...workers: object[]) => {
    const server = await fakeServer({ 'GET /v1/workers': { body: workers } });
    t.after(() => server.stop());
    return (await run(['workers', '--server', server.url])).stdout.split('\n');
  };
  const ends_at = Math.floor(Date.now() / 1000) + 3600;
  const endless = aWorker('endless', { status: 'alive' });
  const [title, ending, other] = await list(
    aWorker('lent', { status: 'alive', capabilities: { ends_at } }),
    endless,
  );
  assert.match(title ?? '', /slots +ends/);
  const time = new Date(ends_at * 1000).toTimeString().slice(0, 5);
  assert.ok(ending?.includes(time), ending);
  assert.match(other ?? '', /0\/1 +- /);
  assert.doesNotMatch((await list(endless))[0] ?? '', /ends/);
});
