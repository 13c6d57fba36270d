// Whose objects a folder holds that several servers share.
import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { MARK } from '../../actors/server/blobs/shared-folder.ts';
import { copyStore } from '../../actors/server/copy/copy-store.ts';
import { job } from '../support/cluster.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { sharingState } from '../support/sharing-state.ts';
import { emptyDatabase } from './drivers.ts';

const copied = async (from: string, to: string) => {
  await copyStore({ from, to, onProgress: () => {} });
  return to;
};

/** Serves a store once, from a state directory. @returns the names of its jobs, before it got one more */
async function served(t: TestContext, options: { state: string; store: string | undefined }) {
  const server = await startTestServer(t, options);
  const jobs = await server.client.call('listJobs');
  await server.client.call('submitJob', { body: job({ name: 'kept' }) as never });
  await server.stop();
  return jobs.map(({ name }) => name);
}

describe('a folder of objects', requires('postgresql'), () => {
  test('is left as it is by a server of another store, which does not start, with what to do', async (t) => {
    const state = await sharingState(t);
    const [store, other] = [await emptyDatabase(), await emptyDatabase()];
    const stranger = await state();
    await startTestServer(t, { store, state: await state() });
    const mark = join(stranger, 'objects', MARK);
    const before = await readFile(mark, 'utf8');
    await assert.rejects(startTestServer(t, { store: other, state: stranger }), {
      code: 'objects_refused',
      message: /belong to another store .*another state directory, .* remove .*\/objects\/\.store$/,
    });
    assert.equal(await readFile(mark, 'utf8'), before);
    const second = await startTestServer(t, { store, state: await state() });
    assert.equal(second.state, 'standing_by');
  });

  test('is left as it is by a server without a database, which would take all of them for nobody’s', async (t) => {
    const state = await temporaryDirectory(t);
    await served(t, { state, store: await emptyDatabase() });
    await assert.rejects(startTestServer(t, { state, store: undefined }), {
      code: 'objects_refused',
      message: /belong to a store in PostgreSQL: name it with --store, .* remove .*\/objects\/\.store$/,
    });
  });

  test('becomes that of another store where no mark says whose it is, as after a crash while the mark was written', async (t) => {
    const state = await temporaryDirectory(t);
    await served(t, { state, store: await emptyDatabase() });
    const mark = join(state, 'objects', MARK);
    await rm(mark);
    await served(t, { state, store: await emptyDatabase() });
    await writeFile(mark, '');
    await served(t, { state, store: await emptyDatabase() });
    assert.match(await readFile(mark, 'utf8'), /^[-0-9a-f]{36}\n$/);
  });

  test('stays with the rows of its store when these are copied to another database, back to SQLite, and forth again', async (t) => {
    const state = await temporaryDirectory(t);
    const first = await emptyDatabase();
    await served(t, { state, store: first });
    const second = await copied(first, await emptyDatabase());
    assert.deepEqual(await served(t, { state, store: second }), ['kept']);
    await copied(second, state);
    assert.deepEqual(await served(t, { state, store: undefined }), ['kept', 'kept']);
    const third = await copied(state, await emptyDatabase());
    assert.deepEqual(await served(t, { state, store: third }), ['kept', 'kept', 'kept']);
  });

  test('is not shared by a server that was told of a bucket: it does not stand by, and says what to do', async (t) => {
    const state = await sharingState(t);
    const store = await emptyDatabase();
    await startTestServer(t, { store, state: await state() });
    const objects = { bucket: 'lab', prefix: 'jq/', pathStyle: false, url: 's3://lab/jq' };
    await assert.rejects(startTestServer(t, { store, state: await state(), objects }), {
      code: 'objects_refused',
      message: /lie in a folder, not in s3:\/\/lab\/jq: .*leave --objects out/,
    });
  });
});
