import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { migratePostgres } from '../../actors/server/store/postgres/postgres-store.ts';
import { NOTE_TURN, turnStatement } from '../../actors/server/store/postgres/turn-sql.ts';
import { EVENTS } from '../../actors/server/store/tables.ts';
import { requires } from '../support/requires.ts';
import { emptyDatabase, openAt, postgres, storeAt } from './drivers.ts';
import { aside, LARGE, MARK, opened, settled, turnOf } from './postgres-support.ts';

describe('a store in PostgreSQL belongs to one server', requires('postgresql'), () => {
  test('a second one is refused, with words that say where the first is', async (t) => {
    const { address } = await opened(t);
    await assert.rejects(openAt(address), {
      code: 'state_in_use',
      message: /in use by another server on 127\.0\.0\.1; stop that one/,
    });
  });

  test('once the first has ended, the second has it', async (t) => {
    const { store, address } = await opened(t);
    await store.commit(turnOf(1));
    await store.close();
    const second = await storeAt(t, address);
    assert.equal((await second.load(EVENTS, 'true')).length, 1);
  });

  test('one that another has followed writes nothing any more, whatever it believes', async (t) => {
    const { store, proxy, address, count } = await opened(t);
    await store.commit(turnOf(1));
    proxy.refuses = true;
    proxy.cutAll();
    const second = await storeAt(t, address);
    await second.commit(turnOf(1, 2));
    proxy.refuses = false;
    for (let tries = 0; tries < 3; tries++)
      await assert.rejects(store.commit(turnOf(1, 3)), {
        code: 'STORE_FAULT',
        message: /another server has taken the store over/,
      });
    await assert.rejects(store.probe(), { message: /another server/ });
    assert.equal(await count(), 2);
    await second.commit(turnOf(1, 4));
    const nobodys = 'a'.repeat(64);
    assert.deepEqual(
      [await second.names(nobodys), await store.names(nobodys)],
      [false, true],
      'it does not even say that bytes may be removed',
    );
  });

  test('one that another has followed finds out what became of its last turn', async (t) => {
    for (const when of ['before', 'after'] as const) {
      const { store, proxy, address } = await opened(t);
      await store.commit(turnOf(1));
      const cut = proxy.cut(when, MARK);
      proxy.refuses = true;
      const commit = settled(store.commit(turnOf(1, 2)));
      await cut;
      const second = await storeAt(t, address);
      await second.commit(turnOf(1, 9));
      proxy.refuses = false;
      assert.equal(await commit, when === 'after' ? 'written' : 'STORE_FAULT');
      const stored = await second.load(EVENTS, 'true ORDER BY id');
      assert.deepEqual(
        stored.map(({ id }) => id),
        when === 'after' ? [1, 2, 9] : [1, 9],
      );
      await assert.rejects(store.commit(turnOf(1, 3)), { message: /another server/ });
    }
  });

  test('a statement of an earlier epoch that arrives late writes nothing', async (t) => {
    const { store, address } = await opened(t);
    await store.commit(turnOf(1));
    const other = await aside(t, address);
    const epoch = async () =>
      (await other.query<{ epoch: number }>('SELECT epoch FROM reign')).rows[0]?.epoch as number;
    const before = await epoch();
    await store.close();
    const second = await storeAt(t, address);
    assert.equal(await epoch(), before + 1);
    const { statement, documents } = turnStatement(turnOf(2, 7), 'whole');
    const late = await other.query({ ...statement, values: [before, 99, ...documents] });
    assert.deepEqual(late.rows, [{ epochs: 0 }]);
    assert.deepEqual((await other.query({ ...NOTE_TURN, values: [before, 99] })).rows, []);
    assert.equal((await second.load(EVENTS, 'true')).length, 1);
  });

  test('several lie in one database, each in a schema of its own', async (t) => {
    const address = await emptyDatabase();
    const other = await aside(t, address);
    await other.query('CREATE SCHEMA second');
    const addresses = [address, `${address}?options=-csearch_path%3Dsecond,public`];
    const stores = addresses.map((one) => storeAt(t, one));
    for (const [i, opening] of stores.entries()) {
      const store = await opening;
      await store.commit(turnOf(i + 1));
      assert.equal((await store.load(EVENTS, 'true')).length, i + 1);
    }
  });
});

describe('a database', requires('postgresql'), () => {
  const asRole = (address: string, role: string): string => {
    const url = new URL(address);
    url.username = role;
    return url.href;
  };

  async function withRole(t: TestContext, address: string) {
    const owner = await aside(t, address);
    const role = `plain_${Date.now()}_${Math.random().toString(36).slice(2)}`;
    await owner.query(`CREATE ROLE ${role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC`);
    return { owner, role };
  }

  test('that a role may not change is refused before it is migrated, and served by it afterwards', async (t) => {
    const address = await (await postgres()).database();
    const { owner, role } = await withRole(t, address);
    await assert.rejects(openAt(asRole(address, role)), {
      code: 'store_too_old',
      message: /jq-server migrate --store/,
    });
    assert.deepEqual(await migratePostgres(address).then(({ from }) => from), 0);
    await owner.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`);
    const store = await storeAt(t, asRole(address, role));
    await store.commit(turnOf(LARGE));
    assert.equal((await store.load(EVENTS, 'true')).length, LARGE);
  });

  test('is not migrated while a server has it', async (t) => {
    const { address } = await opened(t);
    await assert.rejects(migratePostgres(address), { code: 'state_in_use' });
  });

  for (const [what, sql, refusal] of [
    [
      'of a newer program',
      'UPDATE schema_version SET version = 9999',
      { code: 'store_too_new', message: /9999, newer than this program/ },
    ],
    [
      'in which a commit does not wait for the disk',
      'ALTER DATABASE current SET synchronous_commit = off',
      { code: 'store_unreadable', message: /synchronous_commit is off/ },
    ],
  ] as const) {
    test(`${what} is refused and left as it is`, async (t) => {
      const address = await emptyDatabase();
      const other = await aside(t, address);
      await other.query(sql.replace('DATABASE current', `DATABASE ${new URL(address).pathname.slice(1)}`));
      await assert.rejects(openAt(address), refusal);
      await assert.rejects(openAt(address), refusal);
    });
  }

  test('that is not there is told from an address that says nonsense, and no password is in the words', async () => {
    const { port } = await postgres();
    await assert.rejects(
      openAt(`postgres://jq:s3cret@127.0.0.1:${port}/nowhere`),
      (error: Error & { code: string }) => {
        assert.equal(error.code, 'store_unreadable');
        assert.match(
          error.message,
          /postgres:\/\/127\.0\.0\.1:\d+\/nowhere \(database "nowhere" does not exist\)/,
        );
        assert.doesNotMatch(error.message, /s3cret/);
        return true;
      },
    );
    await assert.rejects(openAt('postgres://['), {
      code: 'store_unreadable',
      message: /cannot read the address/,
    });
  });

  test('is reached by what the environment says where the address leaves it out', async (t) => {
    const address = new URL(await emptyDatabase());
    const before = { ...process.env };
    Object.assign(process.env, { PGHOST: address.hostname, PGPORT: address.port, PGUSER: address.username });
    t.after(() => {
      process.env = before;
    });
    const store = await storeAt(t, `postgres://${address.pathname}`);
    assert.equal(await store.isEmpty(), true);
  });
});
