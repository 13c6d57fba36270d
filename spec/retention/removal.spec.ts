import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../actors/server/check/open-store.ts';
import { openWriter } from '../../actors/server/store/open.ts';
import { run } from '../cli/cli-support.ts';
import { Hand, submit } from '../dashboard/hands.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { spawnServer, startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';
import { DAY } from './support.ts';

/** More than a slice of objects, and more than two. */
const OBJECTS = 110;

const objectsIn = (state: string): string[] =>
  readdirSync(join(state, 'objects'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

/** How many objects are to be removed. */
async function leaving(state: string): Promise<number> {
  const db = await openStore(join(state, 'store.sqlite'), true);
  try {
    return (await db.get<{ n: number }>('SELECT count(*) AS n FROM unnamed_objects'))?.n ?? -1;
  } finally {
    await db.close();
  }
}

test('a removal of objects that is killed in its middle, again and again, goes on, and objects and rows agree at each moment', async (t) => {
  const server = await startTestServer(t);
  const { client, stateDir: state } = server;
  const hand = await Hand.register(client);
  const dir = await temporaryDirectory(t);
  const { id } = await submit(client);
  const first = await hand.run();
  for (let i = 0; i < OBJECTS; i++) await hand.upload(first, dir, 'workspace', `${i}.txt`, `object ${i}`);
  await hand.complete(first);
  await submit(client);
  const second = await hand.run();
  // One whose bytes the deleted job had as well.
  await hand.upload(second, dir, 'workspace', '0.txt', 'object 0');
  await hand.upload(second, dir, 'workspace', 'own.txt', 'own');
  await hand.complete(second);
  await client.call('deleteJob', { params: { id } });
  // The row of what another artifact names goes with its turn; the bytes stay.
  await until('the rows to be gone', async () => (await leaving(state)) === OBJECTS);
  await server.stop();
  assert.equal(objectsIn(state).length, OBJECTS + 1);
  const db = await openWriter(join(state, 'store.sqlite'));
  await db.run('UPDATE unnamed_objects SET since = since - ?', 2 * DAY);
  await db.close();

  for (const [dieAtRemoval, left] of [
    [1, OBJECTS],
    [70, OBJECTS - 70],
  ] as const) {
    const dying = spawnServer({ state, faults: { dieAtRemoval, hurriedBy: 20 } });
    t.after(() => dying.kill());
    assert.equal((await dying.ended).signal, 'SIGKILL', dying.stderr);
    assert.equal(objectsIn(state).length, left);
    assert.ok((await leaving(state)) >= left - 2, 'no row goes before its object');
    const { code, stdout, stderr } = await run(['check', '--state', state], { program: 'jq-server' });
    assert.equal(code, 0, stdout + stderr);
  }
  const last = await startServerProgram({ state, faults: { hurriedBy: 20 } });
  t.after(() => last.kill());
  await until('the removal to be over', async () => (await leaving(state)) === 0);
  assert.equal(objectsIn(state).length, 2);
  await last.kill();
  const { code, stdout } = await run(['check', '--state', state], { program: 'jq-server' });
  assert.equal(code, 0, stdout);
});
