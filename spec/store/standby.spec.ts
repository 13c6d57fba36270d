import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { WebSocket } from 'ws';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { Database } from '../../actors/server/store/postgres/connect.ts';
import { releaseLock, tryLock, WAITS } from '../../actors/server/store/postgres/lock.ts';
import type { StartError } from '../../machines/protocol/start-error.ts';
import { SupersededError } from '../../machines/protocol/superseded-error.ts';
import { job } from '../support/cluster.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { sharingState } from '../support/sharing-state.ts';
import { until } from '../support/until.ts';
import { emptyDatabase, postgres } from './drivers.ts';
import { aside } from './postgres-support.ts';

const JOB = job({ name: 'kept' });

/** @param advertise where the one that leads says that it is */
async function pair(t: TestContext, advertise?: string) {
  const store = await emptyDatabase();
  const state = await sharingState(t);
  const first = await startTestServer(t, { store, state: await state(), advertise });
  const second = await startTestServer(t, { store, state: await state() });
  await until('the one that leads to be known', async () => {
    const { servers } = await second.client.call('listServers').catch(() => ({ servers: [] }));
    return servers.length === 2 && servers.every(({ address }) => address !== null);
  });
  return { store, first, second };
}

/** Ends the session of the one that leads. */
const endTurns = (other: Client) =>
  other.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'jq-server: turns' AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)",
  );

const demandOf = async ({ url }: { url: string }) => (await fetch(`${url}/v1/demand`)).status;

async function answer(url: string, path: string, init?: RequestInit) {
  const response = await fetch(url + path, init);
  return {
    status: response.status,
    after: response.headers.get('retry-after'),
    body: (await response.json()) as { code?: string; leads?: boolean; artifact_id?: string },
  };
}

describe('a second server on one database', requires('postgresql'), () => {
  test('stands by: it is ready, says that it does not lead, and lists who does', async (t) => {
    const { first, second } = await pair(t);
    assert.equal(second.state, 'standing_by');
    for (const [server, leads] of [
      [first, true],
      [second, false],
    ] as const) {
      const { status, body } = await answer(server.url, '/readyz');
      assert.deepEqual([status, body.leads], [200, leads]);
    }
    const { id } = await first.client.call('submitJob', { body: JOB as never });
    for (const { client } of [first, second]) {
      const list = await until('both to have said that they are there', async () => {
        const view = await client.call('listServers');
        return (
          view.servers.every(({ event_id, address }) => event_id === view.last_event_id && address) && view
        );
      });
      assert.deepEqual(
        list.servers.map(({ status, address, epoch }) => [status, address, epoch !== null]),
        [
          ['leading', first.url, true],
          ['standing_by', second.url, false],
        ],
      );
    }
    assert.equal((await first.client.call('getJob', { params: { id } })).id, id);
  });

  test('answers by itself what stands in the store, though the one that leads cannot be reached', async (t) => {
    const { first, second } = await pair(t, 'http://127.0.0.1:9');
    const { id } = await first.client.call('submitJob', { body: JOB as never });
    const bytes = new Blob([randomBytes(100_000)]);
    const form = new FormData();
    form.append('file', bytes, 'a.bin');
    const artifact = (await answer(first.url, '/v1/artifacts', { method: 'POST', body: form })).body;
    await first.client.call('cancelJob', { params: { id } });
    const paths = [
      '/v1/jobs',
      `/v1/jobs/${id}`,
      `/v1/jobs/${id}/request`,
      `/v1/jobs/${id}/tasks`,
      `/v1/jobs/${id}/ranking`,
      `/v1/jobs/${id}/events`,
      `/v1/jobs/${id}/artifacts`,
      '/v1/events',
      '/v1/stats',
      '/v1/stats/history',
      `/v1/machines/job/actors/${id}`,
      `/v1/artifacts/${artifact.artifact_id}`,
    ];
    const read = ({ url }: TestServer) =>
      Promise.all(paths.map(async (path) => (await fetch(url + path)).text()));
    assert.deepEqual(await read(second), await read(first));
    assert.equal(await demandOf(second), 503, 'what only the other knows is not known here');
  });

  test('leaves it to the one that leads to say that bytes are lost, and to put them aside', async (t) => {
    const { first, second } = await pair(t, 'http://127.0.0.1:9');
    const form = new FormData();
    form.append('file', new Blob(['good bytes']), 'a.bin');
    const { artifact_id } = (await answer(first.url, '/v1/artifacts', { method: 'POST', body: form })).body;
    const path = join(second.stateDir, objectPath(createHash('sha256').update('good bytes').digest('hex')));
    // As if it had been sent on already, so that nobody waits for the one that leads.
    const headers = { 'X-Cluster-Forwarded': '1' };
    const read = async ({ url }: TestServer) =>
      (await answer(url, `/v1/artifacts/${artifact_id}`, { headers })).body.code;
    for (const damaged of ['bad  bytes', 'fewer']) {
      await writeFile(path, damaged);
      assert.equal(await read(second), 'standing_by');
      assert.equal(await readFile(path, 'utf8'), damaged);
    }
    assert.equal(await read(first), 'artifact_lost');
    assert.equal(await read(second), 'standing_by');
  });

  test('shows whoever wrote through one of them what was written, at each of them, at once', async (t) => {
    const { first, second } = await pair(t);
    for (let n = 0; n < 20; n++) {
      const [writes, reads] = n % 2 === 0 ? [first, second] : [second, first];
      const { id } = await writes.client.call('submitJob', { body: job({ name: `job ${n}` }) as never });
      assert.equal((await reads.client.call('getJob', { params: { id } })).name, `job ${n}`);
      const last = (await writes.client.call('listEvents', { query: { limit: 1 } })).at(-1)?.id ?? 0;
      await reads.client.call('listEvents', { query: { after_id: last } });
    }
  });

  test('brings events as they are committed, and goes on with its own once it leads, none twice and none left out', async (t) => {
    const { first, second } = await pair(t);
    const end = new AbortController();
    t.after(() => end.abort());
    const ids: number[] = [];
    const frames = new WebSocket(`${second.url.replace('http', 'ws')}/v1/events/stream?after_id=0`);
    t.after(() => frames.terminate());
    frames.on('message', (text) => ids.push((JSON.parse(String(text)) as { id: number }).id));
    let closed = false;
    frames.on('close', () => {
      closed = true;
    });
    const submit = ({ client }: TestServer) => client.call('submitJob', { body: JOB as never });
    for (let n = 0; n < 5; n++) await submit(n % 2 ? first : second);
    const lastOf = async ({ client }: TestServer) => (await client.call('listEvents')).at(-1)?.id as number;
    const before = await lastOf(first);
    await until('the events of the other', () => ids.at(-1) === before);
    await first.stop();
    await second.leads;
    for (let n = 0; n < 5; n++) await submit(second);
    const after = await lastOf(second);
    await until('its own events', () => ids.at(-1) === after);
    assert.deepEqual(
      ids,
      Array.from({ length: after }, (_, i) => i + 1),
    );
    assert.equal(closed, false);
  });

  test('leads once the first has ended, with all that was acknowledged', async (t) => {
    const { first, second } = await pair(t);
    const { id } = await first.client.call('submitJob', { body: JOB as never });
    await first.stop();
    await second.leads;
    assert.equal(second.state, 'serving');
    assert.equal((await second.client.call('getJob', { params: { id } })).name, 'kept');
    await assert.doesNotReject(second.client.call('submitJob', { body: JOB as never }));
  });

  test('is given the store by one whose last sign of life is still on its way, and that one does not end as superseded', async (t) => {
    const { store, first, second } = await pair(t);
    const other = await aside(t, store);
    // Within a transaction a session sees the others as they were when it first looked.
    const watch = await aside(t, store);
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM servers WHERE id = (SELECT server FROM reign) FOR UPDATE');
    await until('it to say so', async () => {
      const { rows } = await watch.query<{ waits: number }>(
        "SELECT count(*)::int AS waits FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE 'WITH beat%'",
      );
      return rows[0]?.waits === 1;
    });
    const stopped = first.stop();
    await until('the store to be given away', async () => {
      const { rows } = await other.query<{ server: string }>('SELECT server FROM leader');
      return rows[0]?.server === '';
    });
    await other.query('COMMIT');
    await stopped;
    assert.notEqual(first.state, 'superseded');
    await second.leads;
  });

  test('ends without leading when it is told to', async (t) => {
    const { first, second } = await pair(t);
    await second.stop();
    await first.client.call('submitJob', { body: JOB as never });
  });

  test('does not take over from one that lost its session and is well, though nobody asks it for anything', async (t) => {
    const { store, first, second } = await pair(t);
    const other = await aside(t, store);
    const epoch = async () => (await other.query('SELECT epoch FROM reign')).rows[0]?.epoch as number;
    const before = await epoch();
    await endTurns(other);
    await until('a new epoch', async () => (await epoch()) > before);
    await second.client.call('submitJob', { body: JOB as never });
    assert.deepEqual([first.state, second.state], ['serving', 'standing_by']);
  });

  test('leads where the first cannot come back in time, which notices it by itself and ends', async (t) => {
    const store = await emptyDatabase();
    const state = await sharingState(t);
    const proxy = await cuttingProxy(t, (await postgres()).port);
    const through = new URL(store);
    through.port = `${proxy.port}`;
    const first = await startTestServer(t, { store: through.href, state: await state() });
    const second = await startTestServer(t, { store, state: await state() });
    proxy.refuses = true;
    proxy.cutAll();
    await second.leads;
    proxy.refuses = false;
    await assert.rejects(first.ended, SupersededError);
    await assert.rejects(fetch(`${first.url}/healthz`));
    await second.client.call('submitJob', { body: JOB as never });
  });

  test('leads then also where a third one tries the lock, too', async (t) => {
    const store = await emptyDatabase();
    const state = await sharingState(t);
    const proxy = await cuttingProxy(t, (await postgres()).port);
    const through = new URL(store);
    through.port = `${proxy.port}`;
    await startTestServer(t, { store: through.href, state: await state() });
    const second = await startTestServer(t, { store, state: await state() });
    const database = await Database.at(store);
    const third = await database.connect(WAITS, {});
    let looks = true;
    const looking = (async () => {
      for (; looks; await pause(10))
        if (await tryLock(third)) {
          await pause(40);
          await releaseLock(third);
        }
      await third.end();
    })();
    t.after(() => {
      looks = false;
      return looking;
    });
    // Its other sessions stay, so that it is waited for.
    proxy.refuses = true;
    await endTurns(await aside(t, store));
    const left = AbortSignal.timeout(30_000);
    await Promise.race([second.leads, once(left, 'abort').then(() => assert.fail('nobody leads'))]);
  });

  test('leads with what the first committed, which lost the database meanwhile and ended without knowing whether it did', async (t) => {
    const store = await emptyDatabase();
    const proxy = await cuttingProxy(t, (await postgres()).port);
    const through = new URL(store);
    through.port = `${proxy.port}`;
    const first = await startTestServer(t, { store: through.href });
    const cut = proxy.cut('after', 'in doubt');
    const body = JSON.stringify(job({ name: 'in doubt' }));
    const headers = { 'Content-Type': 'application/json' };
    const asked = answer(first.url, '/v1/jobs', { method: 'POST', body, headers });
    proxy.refuses = true;
    await cut;
    await first.stop();
    const { status, body: said } = await asked;
    assert.deepEqual([status, said.code], [500, 'internal']);
    const next = await startTestServer(t, { store });
    assert.equal((await next.client.call('listJobs')).length, 1);
  });

  test('is refused where the bytes of artifacts lie in a folder that only the first one has, with what to do', async (t) => {
    const { store } = await pair(t);
    await assert.rejects(startTestServer(t, { store }), (fault: StartError) => {
      assert.equal(fault.code, 'objects_refused');
      assert.match(fault.message, /is not the folder of its objects: .* symbolic link .*--objects/);
      return true;
    });
  });
});

test(
  'the one that leads is not ready while the database is away, though nobody writes, and is again once it is back',
  requires('postgresql'),
  async (t) => {
    const proxy = await cuttingProxy(t, (await postgres()).port);
    const through = new URL(await emptyDatabase());
    through.port = `${proxy.port}`;
    const { url } = await startTestServer(t, { store: through.href });
    const ready = () => answer(url, '/readyz');
    assert.equal((await ready()).status, 200);
    proxy.refuses = true;
    proxy.cutAll();
    await until('it not to be ready', async () => (await ready()).body.code === 'store_unavailable');
    proxy.refuses = false;
    await until('it to be ready again', async () => (await ready()).body.leads);
  },
);
