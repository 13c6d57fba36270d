// What a role or a database is set to for others: it must neither end the sessions of a server, nor change what they read and write.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import pg from 'pg';
import { endSession } from '../../actors/server/store/postgres/lock.ts';
import { EVENTS } from '../../actors/server/store/tables.ts';
import { job } from '../support/cluster.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { emptyDatabase, postgres, storeAt } from './drivers.ts';
import { aside, LARGE, settled, turnOf } from './postgres-support.ts';
import { eventRow, nothing } from './row-support.ts';

const nameOf = (address: string) => new URL(address).pathname.slice(1);

/** A database of which sessions begin so from now on. */
async function databaseSet(t: TestContext, setting: string) {
  const address = await emptyDatabase();
  const owner = await aside(t, address);
  await owner.query(`ALTER DATABASE ${nameOf(address)} SET ${setting}`);
  return { address, owner };
}

const ROWS = [
  { ...eventRow, id: 1, ts: 1_796_000_000.123_456_7, message: 'nul\0 "quoted" \\ \\u0000 \'' },
  { ...eventRow, id: 2, ts: 0.1 + 0.2, job_id: null, message: 'NULL' },
];

describe('a database that is set for others', requires('postgresql'), () => {
  for (const setting of ['extra_float_digits = 0', 'standard_conforming_strings = off'])
    test(`by ${setting}: rows come back as they were`, async (t) => {
      const { address } = await databaseSet(t, setting);
      const store = await storeAt(t, address);
      await store.commit({ ...nothing(), events: ROWS });
      assert.deepEqual(await store.load(EVENTS, 'true ORDER BY id'), ROWS);
    });

  test('by statement_timeout: what takes longer is read and written all the same', async (t) => {
    const { address } = await databaseSet(t, 'statement_timeout = 1');
    const store = await storeAt(t, address);
    await store.commit(turnOf(2 * LARGE));
    assert.equal((await store.load(EVENTS, 'true')).length, 2 * LARGE);
    assert.deepEqual(await store.queries.get('SELECT 1 AS slow FROM pg_sleep(0.1)'), { slow: 1 });
  });

  test('by lock_timeout: a turn waits for who has a row of it', async (t) => {
    const { address, owner } = await databaseSet(t, 'lock_timeout = 1');
    const store = await storeAt(t, address);
    await owner.query('BEGIN; LOCK TABLE events');
    const commit = settled(store.commit(turnOf(1)));
    const watch = await aside(t, address);
    await until('the turn to wait', async () => {
      const sql =
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND application_name = 'jq-server: turns'";
      return (await watch.query(sql)).rowCount === 1;
    });
    await owner.query('COMMIT');
    assert.equal(await commit, 'written');
  });

  test('by idle_session_timeout: a server that is idle keeps its sessions, and leads under the same epoch', async (t) => {
    const { address, owner } = await databaseSet(t, 'idle_session_timeout = 50');
    const epoch = async () =>
      (await owner.query<{ epoch: number }>('SELECT epoch FROM reign')).rows[0]?.epoch;
    const store = await storeAt(t, address);
    const before = await epoch();
    const another = new pg.Client(address);
    another.on('error', () => {});
    await another.connect();
    await new Promise((ended) => another.once('end', ended));
    assert.equal(await settled(store.commit(turnOf(1))), 'written');
    assert.equal(await epoch(), before);
  });

  test('by synchronous_commit = off, when the session of turns is made anew: none is taken for written, until that is put right', async (t) => {
    const address = await emptyDatabase();
    const store = await storeAt(t, address);
    await store.commit(turnOf(1));
    const owner = await aside(t, address);
    await owner.query(`ALTER DATABASE ${nameOf(address)} SET synchronous_commit = off`);
    await owner.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'jq-server: turns' AND datname = current_database()",
    );
    // The session ends in its own time, perhaps under a probe.
    await until('the one made anew to be refused', () =>
      store.probe().then(
        () => false,
        ({ code, message }) => code === 'STORE_FAULT' && /synchronous_commit is off/.test(message),
      ),
    );
    assert.equal(await settled(store.commit(turnOf(1, 2))), 'STORE_FAULT');
    await owner.query(`ALTER DATABASE ${nameOf(address)} SET synchronous_commit = on`);
    await until('turns again', async () => (await settled(store.commit(turnOf(1, 2)))) === 'written');
    assert.equal((await store.load(EVENTS, 'true')).length, 2);
  });
});

describe('a database whose language has other letters', requires('postgresql'), () => {
  test('finds jobs by their names as a file does', async (t) => {
    const of = new URL(await emptyDatabase());
    const name = `turkish_${Math.random().toString(36).slice(2)}`;
    await (await postgres()).query(
      of.href,
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'`,
    );
    of.pathname = `/${name}`;
    const found = [];
    for (const store of [of.href, undefined]) {
      const { client } = await startTestServer(t, { store });
      for (const title of ['ISI', 'ısı', 'İsi', 'isi', 'ÜBER', 'über'])
        await client.call('submitJob', { body: job({ name: title }) as never });
      const lists = ['isi', 'I', 'ı', 'über'].map((part) =>
        client.call('listJobs', { query: { name: part } }).then((jobs) => jobs.map((each) => each.name)),
      );
      found.push(await Promise.all(lists));
    }
    assert.deepEqual(found[0], found[1]);
  });
});

describe('a role that loses its rights while a server works', requires('postgresql'), () => {
  test('has the server say that its store cannot be used, and go on once they are back', async (t) => {
    const logFile = join(await temporaryDirectory(t), 'log');
    const address = new URL(await emptyDatabase());
    const owner = await aside(t, address.href);
    const role = `loses_${Math.random().toString(36).slice(2)}`;
    const rights = 'SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public';
    await owner.query(`CREATE ROLE ${role} LOGIN; GRANT ${rights} TO ${role}`);
    address.username = role;
    const server = await startTestServer(t, { store: address.href, logFile, logLevel: 'info' });
    const submit = () => server.client.call('submitJob', { body: job() as never });
    await submit();
    await owner.query(`REVOKE INSERT ON jobs FROM ${role}`);
    await assert.rejects(submit(), { status: 503, code: 'store_unavailable' });
    assert.equal((await fetch(`${server.url}/readyz`)).status, 503);
    await assert.rejects(submit(), { status: 503, code: 'store_unavailable' }, 'it was looked at again');
    await owner.query(`REVOKE SELECT ON events FROM ${role}`);
    const read = () => server.client.call('listEvents');
    await assert.rejects(read(), { status: 503, code: 'store_unavailable' });
    assert.match(await readFile(logFile, 'utf8'), /"why":"permission denied for table events"/);
    await owner.query(`GRANT ${rights} TO ${role}`);
    assert.ok((await read()).length > 0);
    await until('jobs to be accepted', () =>
      submit().then(
        () => true,
        () => false,
      ),
    );
  });
});

describe('a server that says nothing', requires('postgresql'), () => {
  test('keeps its session before one that comes as another role, which is told so', async (t) => {
    const address = new URL(await emptyDatabase());
    const owner = await aside(t, address.href);
    const role = `another_${Math.random().toString(36).slice(2)}`;
    await owner.query(`CREATE ROLE ${role} LOGIN`);
    const { rows } = await owner.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    address.username = role;
    await assert.rejects(endSession(await aside(t, address.href), { pid: rows[0]?.pid ?? 0 }), {
      code: 'store_unreadable',
      message: /cannot take over .* terminate .*; have all servers come as the same role/,
    });
  });
});
