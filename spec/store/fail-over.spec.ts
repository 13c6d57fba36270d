import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Database } from '../../actors/server/store/postgres/connect.ts';
import { PostgresStore } from '../../actors/server/store/postgres/postgres-store.ts';
import { EVENTS } from '../../actors/server/store/tables.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { deferred } from '../support/deferred.ts';
import { FaultyLink } from '../support/faulty-link.ts';
import { PostgresPair } from '../support/postgres-pair.ts';
import { requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { emptyDatabase, openAt, postgres, storeAt } from './drivers.ts';
import { aside, settled, turnOf } from './postgres-support.ts';

let started: Promise<PostgresPair> | null = null;

function pairOfThisFile(): Promise<PostgresPair> {
  started ??= PostgresPair.start();
  return started;
}

after(async () => {
  await (await started?.catch(() => null))?.stop();
});

const addressOf = (ports: readonly number[], name: string, more = '') =>
  `postgres://jq@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${name}${more}`;

describe('an address of PostgreSQL that names several hosts', () => {
  test('is read as libpq reads it, each host with a port of its own', async () => {
    const { place } = await Database.at(
      'postgres://jq:s3cret@a:5433,b,[::1]:5434/lab?target_session_attrs=primary',
    );
    assert.equal(place, 'postgres://a:5433,b:5432,[::1]:5434/lab');
  });

  test('is refused where it asks for a host that takes no writes', async () => {
    const reads = 'postgres://jq@a,b/lab?target_session_attrs=prefer-standby';
    await assert.rejects(Database.at(reads), {
      code: 'store_unreadable',
      message: /target_session_attrs is prefer-standby; a store is written/,
    });
  });
});

describe('a store in a primary of PostgreSQL with a replica', requires('postgresql'), () => {
  test('is opened on the one that takes writes, whichever is named first', async (t) => {
    const pair = await pairOfThisFile();
    const name = await pair.database();
    const [primary, replica] = pair.ports;
    const store = await storeAt(t, addressOf([replica, primary], name, '?target_session_attrs=read-write'));
    await store.commit(turnOf(2));
    assert.equal((await store.load(EVENTS, 'true')).length, 2);
    await assert.rejects(openAt(addressOf([replica], name)), {
      code: 'store_away',
      message: /it is a standby, which takes no writes/,
    });
  });

  test('takes no turn for written that the replica does not have, also where somebody ends the wait for it', async (t) => {
    const pair = await pairOfThisFile();
    const name = await pair.database();
    const address = addressOf(pair.ports, name);
    const other = await aside(t, address);
    // For others, of whom nobody wants to see warnings.
    await other.query(`ALTER DATABASE ${name} SET client_min_messages = error`);
    const store = await storeAt(t, address);
    const waiting = async () => {
      const { rows } = await other.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'jq-server: turns' AND datname = current_database()",
      );
      return rows[0]?.pid;
    };
    const goOn = pair.holdReplica();
    let outcome: string | null = null;
    const commit = settled(store.commit(turnOf(1))).then((said) => {
      outcome = said;
    });
    try {
      const first = await until('the turn to wait for the replica', waiting);
      await other.query('SELECT pg_cancel_backend($1)', [first]);
      const next = async () => outcome !== null || ((await waiting()) ?? first) !== first;
      await until('the next session to wait for it', next);
      assert.equal(outcome, null);
    } finally {
      goOn();
    }
    await commit;
    assert.equal(outcome, 'written');
    assert.equal((await store.load(EVENTS, 'true')).length, 1);
  });

  test('goes on in the replica once that is promoted, with every turn that was written', async (t) => {
    const pair = await pairOfThisFile();
    const store = await storeAt(t, addressOf(pair.ports, await pair.database()));
    await store.commit(turnOf(3));
    assert.equal((await store.load(EVENTS, 'true')).length, 3);
    await pair.failOver();
    await until('the next turn', async () => (await settled(store.commit(turnOf(1, 4)))) === 'written');
    const ids = (await store.load(EVENTS, 'true ORDER BY id')).map(({ id }) => id);
    assert.deepEqual(ids, [1, 2, 3, 4]);
    await pair.restore();
  });

  test('notices by itself that the machine of the primary is gone, of which nobody is told: turns and reads go on', async (t) => {
    const pair = await pairOfThisFile();
    const ways = await Promise.all(pair.ports.map((port) => FaultyLink.to(port)));
    t.after(() => ways.forEach((way) => void way.close()));
    const ports = ways.map((way) => way.port);
    const store = await storeAt(t, addressOf(ports, await pair.database()));
    await store.commit(turnOf(1));
    assert.equal((await store.load(EVENTS, 'true')).length, 1);
    const beat = async () =>
      (await store.queries.get<{ beat: number }>('SELECT beat FROM leader'))?.beat ?? 0;
    const before = await beat();
    await until('the server to have counted', async () => (await beat()) > before);
    for (const way of ways.slice(0, 1)) way.state = 'silent';
    await pair.failOver();
    const reading = store.load(EVENTS, 'true');
    await until('the next turn', async () => (await settled(store.commit(turnOf(1, 2)))) === 'written');
    assert.ok((await reading).length > 0);
    assert.equal((await store.load(EVENTS, 'true')).length, 2);
  });
});

describe('a server that takes a store over', requires('postgresql'), () => {
  test('waits for it again where the database goes away before it leads', async (t) => {
    const address = await emptyDatabase();
    const proxy = await cuttingProxy(t, (await postgres()).port);
    const through = new URL(address);
    through.port = `${proxy.port}`;
    const first = await storeAt(t, address);
    let taken = 0;
    const stoodBy = deferred<unknown>();
    const storeTaken = () => {
      if (++taken === 1) proxy.cutAll();
    };
    const givesUp = new AbortController().signal;
    const candidate = {
      leaderSeen: stoodBy.resolve,
      storeSeen: () => {},
      differs: () => {},
      configuration: () => ({}),
      storeTaken,
      epochOver: () => {},
      address: null,
      givesUp,
    };
    const second = PostgresStore.open(through.href, {}, candidate);
    second.catch(() => {});
    await stoodBy.promise;
    await first.close();
    const store = await second;
    t.after(() => store.close());
    assert.equal(taken, 2);
    await store.commit(turnOf(1));
  });
});
