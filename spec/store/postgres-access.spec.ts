import assert from 'node:assert/strict';
import { chownSync } from 'node:fs';
import { chmod, copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { run } from '../cli/cli-support.ts';
import { Authority } from '../support/certificates.ts';
import { job } from '../support/cluster.ts';
import { NOBODY } from '../support/nobody.ts';
import { Program, ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { sharingState } from '../support/sharing-state.ts';
import { until } from '../support/until.ts';
import { emptyDatabase, openAt, postgres, storeAt } from './drivers.ts';
import { aside } from './postgres-support.ts';

/** Who may come how: one role over TLS alone, another with a password, all others as they like. */
const RULES = `local all all trust
hostssl all over_tls 127.0.0.1/32 trust
host all over_tls 127.0.0.1/32 reject
host all with_password 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
`;
const GRANT = 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO';

let ready: Promise<void> | null = null;

/** Roles, and the rules for them. */
async function withRules(): Promise<void> {
  const { directory, port, query } = await postgres();
  const url = `postgres://jq@127.0.0.1:${port}/postgres`;
  await query(
    url,
    "CREATE ROLE over_tls LOGIN; CREATE ROLE plain LOGIN; CREATE ROLE with_password LOGIN PASSWORD 's3cret:\\x'",
  );
  await writeFile(join(directory, 'data/pg_hba.conf'), RULES);
  await query(url, 'SELECT pg_reload_conf()');
  await until('the rules to be read', async () =>
    (await query(url, 'TABLE pg_hba_file_rules')).includes('over_tls'),
  );
}

/** The address of a store as one of these roles, which may read and write rows, names it. */
async function storeFor(role: string): Promise<URL> {
  ready ??= withRules();
  await ready;
  const address = new URL(await emptyDatabase());
  await (await postgres()).query(address.href, `${GRANT} ${role}`);
  address.username = role;
  return address;
}

/** From now on the database has a certificate, for these names. */
async function certified(t: TestContext, names?: string): Promise<Authority> {
  const { directory, port, query } = await postgres();
  const url = `postgres://jq@127.0.0.1:${port}/postgres`;
  const authority = await Authority.make(t);
  const common = `db ${Math.random()}`;
  const made = await authority.certify(common, names);
  const at = { cert: join(directory, `${common}.pem`), key: join(directory, `${common}.key`) };
  await copyFile(made.cert, at.cert);
  await copyFile(made.key, at.key);
  await chmod(at.key, 0o600);
  if (process.getuid?.() === 0) for (const path of [at.cert, at.key]) chownSync(path, NOBODY, NOBODY);
  await query(url, `ALTER SYSTEM SET ssl_cert_file = '${at.cert}'`);
  await query(url, `ALTER SYSTEM SET ssl_key_file = '${at.key}'`);
  await query(url, 'ALTER SYSTEM SET ssl = on');
  await query(url, 'SELECT pg_reload_conf()');
  await until('it to be shown', async () =>
    (await query(url, 'SHOW ssl_cert_file; SHOW ssl')).includes(`${at.cert}\non`),
  );
  return authority;
}

/** The variables that a test sets are as before at its end. */
function environment(t: TestContext): (variables: Record<string, string>) => void {
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  return (variables) => void Object.assign(process.env, variables);
}

const unreadable = (message: RegExp) => ({ code: 'store_unreadable', message });

describe('a database that is reached over TLS', requires('postgresql', 'openssl'), () => {
  test('is used by a whole server so, where it is who it should be; by the variables of libpq, or by the address', async (t) => {
    const { ca } = await certified(t);
    const address = await storeFor('over_tls');
    await assert.rejects(openAt(address.href), unreadable(/no encryption/));
    const named = new URL(address);
    named.search = `?sslmode=verify-full&sslrootcert=${encodeURIComponent(ca)}`;
    await (await storeAt(t, named.href)).close();
    environment(t)({ PGSSLMODE: 'verify-full', PGSSLROOTCERT: ca });
    const { client } = await startTestServer(t, { store: address.href });
    const { id } = await client.call('submitJob', { body: job() as never });
    assert.equal((await client.call('getJob', { params: { id } })).status, 'queued');
    const other = await aside(t, new URL(address.pathname, `postgres://jq@${address.host}`).href);
    const { rows } = await other.query(
      "SELECT application_name AS name, ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE usename = 'over_tls'",
    );
    assert.ok(rows.length >= 3, JSON.stringify(rows));
    assert.deepEqual(
      rows.filter(({ ssl }) => !ssl),
      [],
    );
  });

  test('is not used where nobody vouches for it, or for another name, with words that say so', async (t) => {
    const { ca } = await certified(t, 'DNS:db.lab');
    const { ca: others } = await Authority.make(t);
    const address = await storeFor('over_tls');
    const asked = (search: string) => openAt(`${address.href}?${search}`);
    const root = (file: string) => `sslrootcert=${encodeURIComponent(file)}`;
    const authority = unreadable(/authority that is not trusted here; PGSSLROOTCERT/);
    await assert.rejects(asked(`sslmode=verify-full&${root(others)}`), authority);
    await assert.rejects(asked(`sslmode=verify-ca&${root(others)}`), authority);
    await assert.rejects(asked('sslmode=verify-full'), authority);
    await assert.rejects(
      asked(`sslmode=verify-full&${root(ca)}`),
      unreadable(/another name \(it names DNS:db\.lab\)/),
    );
    await assert.rejects(asked('sslmode=verify-full&sslrootcert=/nowhere.pem'), unreadable(/\/nowhere\.pem/));
    await (await asked(`sslmode=verify-ca&${root(ca)}`)).close();
    await (await asked('sslmode=require')).close();
  });
});

describe('a database that wants a password', requires('postgresql'), () => {
  test('is told the one of .pgpass, or of the file that PGPASSFILE names, and nobody else is', async (t) => {
    const address = await storeFor('with_password');
    const home = await temporaryDirectory(t);
    const { port, pathname } = address;
    const line = (password: string) =>
      [
        '# of the lab',
        `db.lab:5432:*:*:no`,
        `127.0.0.1:${port}:${pathname.slice(1)}:with_password:${password}`,
        '',
      ].join('\n');
    const put = async (name: string, password: string) => {
      const file = join(home, name);
      await writeFile(file, line(password), { mode: 0o600 });
      return file;
    };
    const set = environment(t);
    set({ HOME: home });
    await assert.rejects(openAt(address.href), unreadable(/password/));
    await put('.pgpass', 's3cret\\:\\\\x');
    await (await storeAt(t, address.href)).close();
    const migrating = new Program(
      process.execPath,
      [`${ROOT}bin/jq-server`, 'migrate', '--store', address.href],
      { HOME: home },
    );
    assert.deepEqual([(await migrating.ended).code, migrating.stderr], [0, '']);
    const wrong = await put('wrong', 'no');
    set({ PGPASSFILE: wrong });
    await assert.rejects(
      openAt(address.href),
      unreadable(/password authentication failed for user "with_password"/),
    );
    set({ PGPASSFILE: await put('right', 's3cret\\:\\\\x') });
    await (await storeAt(t, address.href)).close();
    await chmod(join(home, 'right'), 0o644);
    await assert.rejects(openAt(address.href), unreadable(/password/));
    set({ PGPASSFILE: wrong, PGPASSWORD: 's3cret:\\x' });
    const server = await startTestServer(t, { store: address.href });
    assert.equal((await server.client.call('getStats')).tasks_in_flight, 0);
  });
});

describe('a role that may make no tables', requires('postgresql'), () => {
  test('serves what another has migrated: jobs, tasks, deletions, a restart and a take-over', async (t) => {
    ready ??= withRules();
    await ready;
    const { database, query } = await postgres();
    const owner = await database();
    await query(owner, 'REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    const address = new URL(owner);
    address.username = 'plain';
    const server = (...argv: string[]) => run(argv, { program: 'jq-server' });
    const early = await server(
      '--port',
      '0',
      '--state',
      await temporaryDirectory(t),
      '--store',
      address.href,
    );
    assert.deepEqual([early.code, /jq-server migrate/.test(early.stderr)], [2, true], early.stderr);
    const migrated = await server('migrate', '--store', owner);
    assert.equal(migrated.code, 0, migrated.stderr);
    await query(owner, `${GRANT} plain`);

    const store = address.href;
    const state = await sharingState(t);
    const first = await startTestServer(t, { store, state: await state() });
    const second = await startTestServer(t, { store, state: await state() });
    const { id } = await first.client.call('submitJob', { body: job({ name: 'kept' }) as never });
    const gone = await first.client.call('submitJob', { body: job() as never });
    await first.client.call('cancelJob', { params: { id: gone.id } });
    await first.client.call('deleteJob', { params: { id: gone.id } });
    const { worker_id } = await first.client.call('registerWorker', {
      body: { version: { packages: { demo: '1' } } },
    });
    const { task } = await first.client.call('lease', { params: { id: worker_id }, body: {} });
    const at = { params: { id: task?.task_id as string }, query: { worker_id } };
    await first.client.call('startTask', { ...at, body: {} });
    await first.client.call('completeTask', {
      ...at,
      body: { status: 'succeeded', metrics: { best_rmse: 1 } },
    });
    await first.stop();
    await second.leads;
    assert.equal((await second.client.call('getJob', { params: { id } })).status, 'succeeded');
    await assert.rejects(second.client.call('getJob', { params: { id: gone.id } }), { code: 'unknown_id' });
    assert.match((await server('migrate', '--store', store)).stderr, /in use/);
    await second.stop();
    assert.match((await server('migrate', '--store', store)).stdout, /has version/);
  });
});
