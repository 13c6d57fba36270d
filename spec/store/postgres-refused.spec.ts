// Databases that are no store, or cannot be one just now: each is told in a sentence that says what to do.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { migratePostgres } from '../../actors/server/store/postgres/postgres-store.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { emptyDatabase, openAt, postgres } from './drivers.ts';
import { aside } from './postgres-support.ts';

const nameOf = (address: string) => new URL(address).pathname.slice(1);
const through = (address: string, path: string) => `${address}?options=-csearch_path%3D${path}`;
const as = (address: string, role: string) => {
  const url = new URL(address);
  url.username = role;
  return url.href;
};

/** A role that may log in. @param words what else is said of it */
async function roleOf(t: TestContext, address: string, words = '') {
  const role = `role_${Math.random().toString(36).slice(2)}`;
  const owner = await aside(t, address);
  await owner.query(`CREATE ROLE ${role} LOGIN ${words}`);
  return { role, owner, address: as(address, role) };
}

const GRANT = 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO';

/** A session in which functions of the system say something else. */
async function faked(t: TestContext, sql: string): Promise<string> {
  const address = await emptyDatabase();
  await (await aside(t, address)).query(`CREATE SCHEMA fake; ${sql}`);
  return through(address, 'fake,pg_catalog,public');
}

interface Case {
  what: string;
  code: 'store_unreadable' | 'store_away';
  says: RegExp;
  address(t: TestContext): Promise<string>;
}

const cases: Case[] = [
  {
    what: 'whose search_path begins with a schema that is not there, although the next one is a store',
    code: 'store_unreadable',
    says: /the schema lab2 of search_path is not there.*: CREATE SCHEMA lab2/,
    address: async () => through(await emptyDatabase(), 'lab2,public'),
  },
  {
    what: 'whose search_path begins with a schema that the role may not use',
    code: 'store_unreadable',
    says: /the schema Lab of search_path .* its role may not use it/,
    async address(t) {
      const { owner, address } = await roleOf(t, await emptyDatabase());
      await owner.query('CREATE SCHEMA "Lab"');
      return through(address, '"Lab",public');
    },
  },
  {
    what: 'that is not there',
    code: 'store_unreadable',
    says: /nowhere \(database "nowhere" does not exist\); make it, as by: createdb/,
    address: async () => `postgres://jq@127.0.0.1:${(await postgres()).port}/nowhere`,
  },
  {
    what: 'that does not know the role',
    code: 'store_unreadable',
    says: /role "stranger" does not exist\); name its role in the address or PGUSER/,
    address: async () => as(await emptyDatabase(), 'stranger'),
  },
  {
    what: 'that lets the role have too few sessions',
    code: 'store_unreadable',
    says: /lets this role have 5 sessions, and a server needs 16: raise max_connections/,
    async address(t) {
      const { owner, role, address } = await roleOf(t, await emptyDatabase(), 'CONNECTION LIMIT 5');
      await owner.query(`${GRANT} ${role}`);
      return address;
    },
  },
  {
    what: 'that has no room for another session',
    code: 'store_away',
    says: /too many connections for database .*; raise max_connections/,
    async address(t) {
      const { owner, address } = await roleOf(t, await emptyDatabase());
      await owner.query(`ALTER DATABASE ${nameOf(address)} CONNECTION LIMIT 0`);
      return address;
    },
  },
  {
    what: 'that is set to be read only',
    code: 'store_away',
    says: /read-only transaction\); default_transaction_read_only is on/,
    async address(t) {
      const address = await emptyDatabase();
      const owner = await aside(t, address);
      await owner.query(`ALTER DATABASE ${nameOf(address)} SET default_transaction_read_only = on`);
      return address;
    },
  },
  {
    what: 'that is a standby, which may become one that takes writes',
    code: 'store_away',
    says: /it is a standby, which takes no writes/,
    address: (t) =>
      faked(t, "CREATE FUNCTION fake.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'"),
  },
  {
    what: 'of an earlier version',
    code: 'store_unreadable',
    says: /it is PostgreSQL 14; 15 or newer is needed/,
    address: (t) =>
      faked(
        t,
        `CREATE FUNCTION fake.current_setting(text) RETURNS text LANGUAGE sql AS $$
           SELECT CASE $1 WHEN 'server_version_num' THEN '140011' ELSE pg_catalog.current_setting($1) END $$`,
      ),
  },
  {
    what: 'of another encoding',
    code: 'store_unreadable',
    says: /its encoding is LATIN1; make a database in UTF8/,
    async address(t) {
      const address = new URL(await emptyDatabase());
      const name = `latin_${Math.random().toString(36).slice(2)}`;
      const made = `CREATE DATABASE ${name} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'`;
      await (await aside(t, address.href)).query(made);
      address.pathname = `/${name}`;
      return address.href;
    },
  },
  {
    what: 'of which the role was given no table',
    code: 'store_unreadable',
    says: /permission denied for table \w+\); as the owner of its tables: GRANT SELECT/,
    async address(t) {
      const { address } = await roleOf(t, await emptyDatabase());
      return address;
    },
  },
  {
    what: 'of which the role was not given what a later version brought',
    code: 'store_unreadable',
    says: /the role role_\w+ may not read and write all of its tables \(tasks\); as their owner: GRANT .* IN SCHEMA public TO role_/,
    async address(t) {
      const { owner, role, address } = await roleOf(t, await emptyDatabase());
      await owner.query(`${GRANT} ${role}; REVOKE DELETE ON tasks FROM ${role}`);
      return address;
    },
  },
];

describe('a database is no store', requires('postgresql'), () => {
  for (const { what, code, says, address } of cases) {
    test(`${what}: that is said, and what to do`, async (t) => {
      const at = await address(t);
      await assert.rejects(openAt(at), (error: Error & { code: string }) => {
        assert.match(error.message, says);
        assert.equal(error.code, code);
        return true;
      });
    });
  }

  test('of which a service of libpq is to say where it is, which nobody reads here', async (t) => {
    process.env.PGSERVICE = 'lab';
    t.after(() => delete process.env.PGSERVICE);
    const says =
      /PGSERVICE is set, and services are not read: unset it, and name what lab says in the address/;
    const refusal = { code: 'store_unreadable', message: says };
    await assert.rejects(openAt('postgres://jq@db/jq'), refusal);
    await assert.rejects(migratePostgres('postgres://jq@db/jq'), refusal);
  });

  test('that has room for the first sessions of a server alone: it says so as well', async (t) => {
    const { owner, role, address } = await roleOf(t, await emptyDatabase(), 'CONNECTION LIMIT 17');
    await owner.query(`${GRANT} ${role}`);
    // One for turns, and one by which it says that it is there.
    for (let others = 0; others < 15; others++) await aside(t, address);
    await assert.rejects(startTestServer(t, { store: address, state: await temporaryDirectory(t) }), {
      code: 'store_away',
      message: /too many connections for role .*; raise max_connections/,
    });
  });
});
