import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { singleFolderIn } from '../../actors/worker/inputs/paths.ts';
import { findTables } from '../../actors/worker/runners/mljs/data/files.ts';
import { filesOf } from '../../bin/jobs/submit/folder-files.ts';
import type { TaskView } from '../../machines/schema/views.ts';
import { temporaryFolder } from './folder.ts';
import { rawZip } from './raw-zip.ts';
import { serverAndWorker, submit, taskIn, uploadInput } from './support.ts';

/** What Windows, macOS, Office and network shares leave beside data. */
const LEFTOVERS = [
  'Thumbs.db',
  'ehthumbs.db',
  'desktop.ini',
  'Desktop.ini',
  '.DS_Store',
  '._data.csv',
  '~$data.xlsx',
  'Icon\r',
];

async function withLeftovers(folder: string): Promise<void> {
  for (const name of LEFTOVERS) await writeFile(join(folder, name), 'x');
  await mkdir(join(folder, '__MACOSX'));
  await writeFile(join(folder, '__MACOSX', '._corn'), 'x');
}

describe('what file managers leave behind', () => {
  it('does not count beside the one folder that a zip holds', async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(join(folder, 'corn'));
    await withLeftovers(folder);
    assert.equal(await singleFolderIn(folder), join(folder, 'corn'));
    await writeFile(join(folder, 'notes.txt'), 'x');
    assert.equal(await singleFolderIn(folder), undefined, 'what a person wrote does');
  });

  it('does not count beside the one table of a folder, and is not uploaded', async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'corn.csv'), 'x');
    await withLeftovers(folder);
    assert.deepEqual(findTables(folder).train, { both: join(folder, 'corn.csv') });
    assert.deepEqual((await filesOf(folder)).files, [join(folder, 'corn.csv')]);
  });

  it('does not hide the data of a zip, as Windows and macOS pack it', async (t) => {
    const { server } = await serverAndWorker(t);
    const names = ['corn/train.csv', ...LEFTOVERS, '__MACOSX/._corn'];
    const zip = rawZip(names.map((name) => ({ name })));
    const artifact_id = await uploadInput(t, server, 'corn.zip', zip);
    const job = await submit(server, { do: 'echo' }, { dataset: { kind: 'artifact', artifact_id } });
    const { result }: TaskView = await taskIn(server, job);
    const { spec } = (result?.extra ?? {}) as { spec: string };
    assert.equal(basename(JSON.parse(spec).dataset.path), 'corn');
  });
});
