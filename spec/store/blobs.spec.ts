import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { DurableMoves } from '../../actors/server/blobs/durable.ts';
import { COMING } from '../../actors/server/blobs/paths.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { smallDisk } from '../worker/small-disk.ts';
import { filesBelow, openState } from './blob-support.ts';

// What is the folder's alone; the rest it shares with every place where objects may lie (spec/objects/conformance).

const filesIn = async (state: string) => ({
  uploads: (await filesBelow(join(state, 'uploads'))).length,
  objects: (await filesBelow(join(state, 'objects'))).length,
});

describe('a state directory after its server died', () => {
  test('has nothing of uploads that were on their way, once a server starts on it', async (t) => {
    const { state, opened, blobs, put } = await openState(t);
    await put(Buffer.from('kept'));
    const dying = await blobs.create();
    await dying.write(Buffer.from('never finished'));
    t.after(() => dying.abort());
    await opened();
    assert.deepEqual(await filesIn(state), { uploads: 0, objects: 1 });
  });

  test('has no bytes that were in place and not recorded, once a server starts on it', async (t) => {
    const { state, named, opened, placed } = await openState(t);
    const recorded = Buffer.from('named, but the server died before it could remove the mark');
    await placed(Buffer.from('never named'));
    await placed(recorded);
    assert.deepEqual(await filesIn(state), { uploads: 2, objects: 2 });
    named.add(createHash('sha256').update(recorded).digest('hex'));
    await opened();
    assert.deepEqual(await filesIn(state), { uploads: 0, objects: 1 });
  });
});

describe('folders of somebody else in a state directory, as disks have them that are mounted there', () => {
  test('stay, and keep no server from starting', async (t) => {
    const { state, opened, put, blobs } = await openState(t);
    const stored = { id: 'art_1', ...(await put(Buffer.from('kept'))) };
    const folders = ['uploads/lost+found', 'objects/lost+found', `uploads/${'a'.repeat(64)}`];
    for (const folder of folders) {
      await mkdir(join(state, folder), { recursive: true });
      await writeFile(join(state, folder, 'of somebody'), 'kept');
    }
    const next = await opened();
    await next.assertWhole(stored);
    await put(Buffer.from('x'), next);
    await blobs.remove([stored.sha256]);
    for (const folder of folders)
      assert.equal(await readFile(join(state, folder, 'of somebody'), 'utf8'), 'kept');
  });
});

describe('objects on another file system than uploads', requires('small disk'), () => {
  test('come there whole, through a folder that a server empties when it starts', async (t) => {
    const disk = smallDisk(t, 4);
    const state = await temporaryDirectory(t);
    await symlink(disk.path, join(state, 'objects'));
    const { blobs, put, uploads, opened } = await openState(t, {}, state);
    const bytes = randomBytes(1_500_000);
    const stored = await put(bytes);
    assert.deepEqual(await uploads(), []);
    const read = async () =>
      Buffer.concat(await blobs.read({ id: 'a', ...stored }, 0, bytes.length - 1).toArray());
    assert.ok((await read()).equals(bytes));
    disk.fill(500_000);
    await assert.rejects(put(randomBytes(1_000_000)), { code: 'no_room' });
    assert.deepEqual(await filesIn(state), { uploads: 0, objects: 2 }, 'the object, and what fills the disk');
    await writeFile(join(state, COMING, 'a server died before this was whole'), '');
    await opened();
    assert.deepEqual(await filesIn(state), { uploads: 0, objects: 2 });
    assert.ok((await read()).equals(bytes));
  });
});

test('a durable move syncs the folders above the file as well, whoever made them, once in the life of a process', async (t) => {
  const root = await temporaryDirectory(t);
  const synced: string[] = [];
  const moves = new DurableMoves(async (folder) => void synced.push(folder.slice(root.length)));
  const move = async (target: string) => {
    await writeFile(join(root, 'x'), '');
    await moves.move(join(root, 'x'), join(root, target), root);
    return synced.splice(0);
  };
  await mkdir(dirname(join(root, 'objects/aa/bb/1')), { recursive: true });
  assert.deepEqual(await move('objects/aa/bb/1'), ['/objects/aa/bb', '/objects/aa', '/objects', '']);
  assert.deepEqual(await move('objects/aa/bb/2'), ['/objects/aa/bb']);
  assert.deepEqual(await move('objects/aa/cc/1'), ['/objects/aa/cc', '/objects/aa', '/objects', '']);
});

describe('a state directory', () => {
  for (const [how, written] of [
    ['from here, as ./state', (path: string) => `./${relative('.', path)}`],
    ['with a slash at its end', (path: string) => `${path}/`],
    ['by a detour', (path: string) => `${path}/objects/../.`],
  ] as const) {
    test(`may be written ${how}: folders are synced up to it and no further, and uploads end`, async (t) => {
      const root = await temporaryDirectory(t);
      const synced: string[] = [];
      const moves = new DurableMoves(async (folder) => {
        synced.push(resolve(folder));
        assert.ok(synced.length < 10, 'it ends');
      });
      const state = written(root);
      await mkdir(join(state, 'objects/aa/bb'), { recursive: true });
      await writeFile(join(state, 'x'), '');
      await moves.move(join(state, 'x'), join(state, 'objects/aa/bb/1'), state);
      assert.deepEqual(
        synced.map((folder) => relative(root, folder)),
        ['objects/aa/bb', 'objects/aa', 'objects', ''],
      );
      const server = await startTestServer(t, { state });
      const file = join(root, 'upload');
      await writeFile(file, 'bytes');
      const { artifact_id } = await server.client.upload('uploadArtifact', {
        query: {},
        file,
        filename: 'a',
      });
      assert.match(artifact_id, /^art_/);
    });
  }
});
