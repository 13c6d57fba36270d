import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, before, describe, type TestContext, test } from 'node:test';
import { clientOf } from '../support/client.ts';
import { job } from '../support/cluster.ts';
import { type PostgresCluster, postgresCluster } from '../support/postgres.ts';
import { Program, ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';

const program = (...args: string[]) => new Program(process.execPath, [`${ROOT}bin/jq-server`, ...args]);

async function started(t: TestContext, ...args: string[]) {
  const server = program('--port', '0', '--log-level', 'error', '--json', ...args);
  t.after(() => server.kill());
  const { url } = await server.announced('listening');
  const client = clientOf(t, url as string);
  return { server, client };
}

/** What a program says that ends by itself, and with which code. */
async function said(...args: string[]): Promise<{ code: number | null; text: string }> {
  const ended = program(...args);
  const { code } = await ended.ended;
  return { code, text: ended.stdout + ended.stderr };
}

describe('jq-server --store postgres://…', requires('postgresql'), () => {
  let cluster: PostgresCluster;
  before(async () => {
    cluster = await postgresCluster();
  });
  after(() => cluster.stop());

  test('keeps what it acknowledged through kill -9, and nothing but bytes below --state', async (t) => {
    const store = await cluster.database();
    const state = await temporaryDirectory(t);
    const first = await started(t, '--state', state, '--store', store);
    const name = 'Größe "x"\u0000';
    const { id } = await first.client.call('submitJob', { body: job({ name }) as never });
    await first.server.kill();
    const second = await started(t, '--state', state, '--store', store);
    assert.equal((await second.client.call('getJob', { params: { id } })).name, name);
    assert.deepEqual(
      (await readdir(state)).filter((name) => name.startsWith('store')),
      [],
    );
  });

  test('takes over what a server had in its state directory, by `jq-server copy`', async (t) => {
    const [state, store] = [await temporaryDirectory(t), await cluster.database()];
    const first = await started(t, '--state', state);
    const { id } = await first.client.call('submitJob', { body: job() as never });
    const early = await said('copy', '--from', `sqlite:${state}`, '--to', store);
    assert.equal(early.code, 2);
    assert.match(early.text, /in use/);
    await first.server.terminate();
    const copied = await said('copy', '--from', `sqlite:${state}`, '--to', store);
    assert.match(
      copied.text,
      /jq_\w+ has the \d+ rows of .*store\.sqlite, \d+ of them copied now; all are the same$/m,
    );
    assert.equal(copied.code, 0);
    const second = await started(t, '--state', state, '--store', store);
    assert.equal((await second.client.call('getJob', { params: { id } })).id, id);
  });

  test('has the database for itself: who would migrate it is told where the server is, and ends with 2', async (t) => {
    const store = await cluster.database();
    await started(t, '--state', await temporaryDirectory(t), '--store', store);
    const other = await said('migrate', '--store', store);
    assert.equal(other.code, 2);
    assert.match(other.text, /the store is in use by another server on 127\.0\.0\.1; stop that one/);
  });

  test('ends where it cannot use the database, in one line: with 2 where people have to act, with 75 where it may pass', async (t) => {
    const store = await cluster.database();
    const ends = async (address: string) => {
      const flags = ['--port', '0', '--state', await temporaryDirectory(t), '--store', address];
      const { code, text } = await said(...flags);
      assert.equal(
        text
          .trim()
          .split('\n')
          .filter((line) => !line.startsWith('{')).length,
        1,
        text,
      );
      return code;
    };
    assert.equal(await ends(`${store}?options=-csearch_path%3Dlab2,public`), 2);
    const of = `ALTER DATABASE ${new URL(store).pathname.slice(1)} SET default_transaction_read_only`;
    await cluster.query(store, `${of} = on`);
    assert.equal(await ends(store), 75);
    await cluster.query(`${store}?options=-cdefault_transaction_read_only%3Doff`, `${of} = off`);
    await started(t, '--state', await temporaryDirectory(t), '--store', store);
  });

  test('is migrated beforehand by `jq-server migrate`, which says from where to where', async () => {
    const store = await cluster.database();
    const [first, second] = [
      await said('migrate', '--store', store),
      await said('migrate', '--store', store),
    ];
    assert.match(first.text, /^postgres:\/\/127\.0\.0\.1:\d+\/jq_\w+: version 0 before, \d+ now\n$/);
    assert.match(second.text, /has version \d+\n$/);
    assert.deepEqual([first.code, second.code], [0, 0]);
  });
});

describe('jq-server --store', () => {
  for (const [args, words, exit = 2] of [
    [['--store', 'mysql://db/jq'], /--store: neither postgres:\/\/… nor sqlite:DIR/],
    [['--store', 'sqlite:/elsewhere'], /lies in the state directory, which --state names/],
    [
      ['--store', 'postgres://127.0.0.1:1/jq'],
      /cannot use the store postgres:\/\/127\.0\.0\.1:1\/jq \(.*ECONNREFUSED/,
      // Whatever starts it again does so until the database is there.
      75,
    ],
    [['--store', 'postgres://127.0.0.1:1,127.0.0.1:2/jq'], /none of 2 hosts takes writes/, 75],
    [['--store', 'postgres://db/jq?ssl_mode=require'], /--store: .*ssl_mode/],
    [
      ['--store', 'postgres://db/jq', '--backup-to', 'b'],
      /--backup-to: .* one in PostgreSQL has tools of its own/,
    ],
    [['copy', '--from', 'x', '--to', 'postgres://db/jq'], /--from: neither postgres:\/\/… nor sqlite:DIR/],
    [['migrate', '--store', 'sqlite:.'], /--store: postgres:\/\/… is wanted/],
  ] as const) {
    test(`${args.join(' ')} is refused in words that say why`, async (t) => {
      const state = ['migrate', 'copy'].includes(args[0])
        ? []
        : ['--state', await temporaryDirectory(t), '--port', '0'];
      const { code, text } = await said(...args, ...state);
      assert.equal(code, exit);
      assert.match(text, words);
    });
  }

  test('sqlite:DIR with the state directory is what it is without the flag', async (t) => {
    const state = await temporaryDirectory(t);
    await started(t, '--state', state, '--store', `sqlite:${state}`);
    assert.ok((await readdir(state)).includes('store.sqlite'));
  });
});
