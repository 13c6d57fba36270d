import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run } from '../cli/cli-support.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { Program } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import type { Moment } from './copier.ts';
import { busyStore, rowsOf } from './copy-support.ts';
import { emptyDatabase, postgres } from './drivers.ts';

const COPIER = fileURLToPath(new URL('./copier.ts', import.meta.url));

/** One copy after another dies there, counted from what the one before it had done. */
const DEATHS: readonly (readonly [Moment, number])[] = [
  ['during', 1],
  ['before', 3],
  ['after', 2],
  ['during', 3],
  ['comparing', 0],
];

const flagOf = (place: string) => (place.startsWith('postgres://') ? place : `sqlite:${place}`);

const copied = (from: string, to: string) =>
  run(['copy', '--from', flagOf(from), '--to', flagOf(to), '--json'], { program: 'jq-server' });

/** A state directory and what `--store` says of it. */
const served = async (t: TestContext, place: string) =>
  place.startsWith('postgres://')
    ? { state: await temporaryDirectory(t), store: place }
    : { state: place, store: undefined };

const NEW_PLACE = {
  'into PostgreSQL': () => emptyDatabase(),
  'back into a file': (t: TestContext) => temporaryDirectory(t),
} as const;

describe('a copy of a store', requires('postgresql'), () => {
  for (const way of Object.keys(NEW_PLACE) as (keyof typeof NEW_PLACE)[])
    test(`${way} that is killed again and again ends with the same rows, when it is run once more`, async (t) => {
      const { cluster } = await busyStore(t);
      let from = cluster.stateDir;
      if (way === 'back into a file') {
        const there = await emptyDatabase();
        assert.equal((await copied(from, there)).code, 0);
        from = there;
      }
      const rows = await rowsOf(from);
      const to = await NEW_PLACE[way](t);
      for (const [moment, commit] of DEATHS) {
        const args = ['--import', 'tsx', COPIER, from, to, moment, `${commit}`];
        const copier = new Program(process.execPath, args);
        const { signal } = await copier.ended;
        assert.equal(signal, 'SIGKILL', `${moment} ${commit}: ${copier.stderr}`);
      }
      await assert.rejects(startTestServer(t, await served(t, to)), {
        code: 'store_unreadable',
        message: /not finished/,
      });
      const last = await copied(from, to);
      assert.equal(last.code, 0, last.stderr);
      const report = JSON.parse(last.stdout) as { rows: number; written: number };
      assert.ok(report.rows > 150 && report.written < report.rows, last.stdout);
      assert.deepEqual(await rowsOf(to), rows);
      const server = await startTestServer(t, await served(t, to));
      assert.equal((await server.client.call('getStats')).tasks_by_status.succeeded, 1);
    });

  test('into PostgreSQL that loses its database on the way says so, and what to do: it ends with the same rows when it is run once more', async (t) => {
    const { cluster } = await busyStore(t);
    const to = await emptyDatabase();
    const proxy = await cuttingProxy(t, (await postgres()).port);
    const through = new URL(to);
    through.port = `${proxy.port}`;
    // As it is being written.
    const cut = proxy.cut('before', 'INSERT INTO job_requests');
    const broken = await copied(cluster.stateDir, through.href);
    await cut;
    assert.equal(broken.code, 75, broken.stderr);
    assert.match(broken.stderr, /the copy broke off: cannot use the store .*; run it again, and it goes on/);
    assert.equal((await copied(cluster.stateDir, to)).code, 0);
    assert.deepEqual(await rowsOf(to), await rowsOf(cluster.stateDir));
  });

  for (const way of Object.keys(NEW_PLACE) as (keyof typeof NEW_PLACE)[])
    test(`${way} is refused while a server has one of the two, and changes nothing`, async (t) => {
      const { cluster } = await busyStore(t);
      const place = await NEW_PLACE[way](t);
      const server = await startTestServer(t, await served(t, place));
      const before = await server.client.call('getStats');
      for (const [from, to] of [
        [cluster.stateDir, place],
        [place, way === 'into PostgreSQL' ? await temporaryDirectory(t) : await emptyDatabase()],
      ] as const) {
        const { code, stderr } = await copied(from, to);
        assert.deepEqual([code, /in use/.test(stderr)], [2, true], stderr);
      }
      assert.deepEqual(await server.client.call('getStats'), before);
      await server.client.call('submitJob', {
        body: {
          type: 'demo.run',
          pipeline: { kind: 'path', path: 'p' },
          dataset: { kind: 'shared_path', path: 'd' },
        },
      });
    });
});
