import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ClusterClient } from '../../gateway/client/client.ts';
import { run } from '../cli/cli-support.ts';
import { jobText } from '../crash/load.ts';
import { startWorkerProgram } from '../crash/worker-program.ts';
import { emptyDatabase } from '../store/drivers.ts';
import { job } from '../support/cluster.ts';
import { Program, ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { startServerProgram } from '../support/server-program.ts';
import { sharingState } from '../support/sharing-state.ts';
import { until } from '../support/until.ts';

async function startBeside(t: TestContext, store: string, state: () => Promise<string>) {
  // What a worker does not hear of is soon given to another one.
  const server = await startServerProgram({ state: await state(), store, leaseTtl: 30 });
  const client = new ClusterClient({ server: server.url });
  t.after(async () => {
    await client.close();
    await server.kill();
  });
  return { server, client };
}

/** Two servers on one database, of which the second stands by. */
async function startTwo(t: TestContext) {
  const store = await emptyDatabase();
  const state = await sharingState(t);
  const first = await startBeside(t, store, state);
  const second = await startBeside(t, store, state);
  await second.server.announced('standing_by');
  return { store, state, first, second };
}

async function names(client: ClusterClient): Promise<(string | null)[]> {
  return (await client.call('listJobs')).map(({ name }) => name);
}

const submit = (client: ClusterClient, name: string) =>
  client.call('submitJob', { body: job({ name }) as never });

/** The events that `jqctl events --follow` has printed. */
const idsIn = ({ stdout }: Program) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { id: number }).id);

async function ended(client: ClusterClient, id: string): Promise<boolean> {
  const { status } = await client.call('getJob', { params: { id } });
  return status === 'succeeded';
}

describe('of two servers on one database', requires('postgresql'), () => {
  test('the one that was stopped for long hears when it goes on that the other leads, writes nothing, and ends', async (t) => {
    const { first, second, store, state } = await startTwo(t);
    await submit(first.client, 'before');
    first.server.child.kill('SIGSTOP');
    // Waits in its socket until the server goes on.
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
    const again = await startBeside(t, store, state);
    await again.server.announced('standing_by');
  });

  test('the one that stands by is stopped: who follows events there goes on at the other soon, without a gap', async (t) => {
    const { first, second } = await startTwo(t);
    const flags = ['--json', '--server', `${second.server.url},${first.server.url}`];
    const follower = new Program(process.execPath, [
      ...[`${ROOT}bin/jqctl`, 'events', '--follow', '--after-id', '0'],
      ...flags,
    ]);
    t.after(() => follower.kill());
    await submit(first.client, 'before');
    await until('events to be followed', () => idsIn(follower).length > 0);
    second.server.child.kill('SIGSTOP');
    t.after(() => void second.server.child.kill('SIGCONT'));
    await submit(first.client, 'after');
    const ids = (await first.client.call('listEvents', { query: { limit: 1000 } })).map(({ id }) => id);
    // Servers themselves say nothing for most of a minute.
    await until('the last event to be followed', () => idsIn(follower).length >= ids.length, 40);
    assert.deepEqual(idsIn(follower), ids);
  });

  test('the one that stands by has the doctor and the inspector look at the other, which alone knows what they ask', async (t) => {
    const { first, second } = await startTwo(t);
    await submit(first.client, 'queued');
    const doctor = await run(['doctor', '--json', '--server', second.server.url]);
    const { findings } = JSON.parse(doctor.stdout) as { findings: { about: string; says: string }[] };
    const said = (about: string) => findings.filter((one) => one.about === about).map(({ says }) => says);
    assert.match(
      said('server').join(),
      new RegExp(`it stands by; .* are those of ${first.server.url}, which leads`),
    );
    assert.deepEqual([said('store').length, said('disk').length], [1, 1]);
    assert.deepEqual(said('queue'), ['1 task(s) wait, 0 run']);
    const inspector = new Program(process.execPath, [
      ...[`${ROOT}bin/jqctl`, 'inspect', '--json', '--server', second.server.url],
    ]);
    t.after(() => inspector.kill());
    await until('the actors of the other one', () => inspector.stdout.includes('supervisor'));
    assert.equal(inspector.stderr, '');
  });

  test('the second leads when the first is killed: worker, client and stream that know both go on', async (t) => {
    const { first, second } = await startTwo(t);
    const both = `${first.server.url},${second.server.url}`;
    const client = new ClusterClient({ server: both });
    const worker = startWorkerProgram(both, await temporaryDirectory(t));
    const flags = ['events', '--follow', '--after-id', '0', '--json', '--server', both];
    const follower = new Program(process.execPath, [`${ROOT}bin/jqctl`, ...flags]);
    t.after(async () => {
      await client.close();
      await worker.kill();
      await follower.kill();
    });
    const runs = async (name: string) => {
      const { id } = await client.call('submitJob', { text: jobText(name, 2) });
      await until(`${name} to succeed`, () => ended(client, id), 60);
    };
    await runs('before');
    await until('events to be followed', () => idsIn(follower).length > 0);
    await first.server.kill();
    await second.server.announced('leading');
    const { servers, last_event_id } = await client.call('listServers');
    assert.deepEqual(
      servers.map(({ status }) => status),
      ['leading', 'silent'],
    );
    assert.equal(servers[0]?.event_id, last_event_id);
    await runs('after');
    const events = await client.call('listEvents', { query: { limit: 1000 } });
    const ids = events.map(({ id }) => id);
    await until('the last event to be followed', () => idsIn(follower).length >= ids.length);
    assert.deepEqual(idsIn(follower), ids);
    const workers = await client.call('listWorkers');
    assert.deepEqual(
      workers.map(({ status }) => status),
      ['alive'],
      'the worker is the one that it was',
    );
  });
});
