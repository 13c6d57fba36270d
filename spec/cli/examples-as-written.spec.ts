import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { readJobFile } from '../../bin/jobs/submit/job-file.ts';
import { localRef, locate, references } from '../../bin/jobs/submit/local-refs.ts';
import { filesBelow } from '../design/documents/markdown.ts';
import { temporaryDirectory } from '../support/server.ts';
import { ROOT } from './cli-support.ts';

/** Job files of the examples. */
async function jobs(): Promise<string[]> {
  const names = await readdir(join(ROOT, 'examples'), { recursive: true });
  const files = names.filter((name) => name.endsWith('.yaml')).map((name) => join(ROOT, 'examples', name));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return files.filter((_, i) => /^type: \w+\.run/m.test(texts[i] as string));
}

describe('the examples as they are written', () => {
  it('find their files from their own folder and from anywhere else', async (t) => {
    const elsewhere = await temporaryDirectory(t);
    let found = 0;
    for (const file of await jobs()) {
      const { text } = await readJobFile(file, new PassThrough(), {});
      for (const piece of references(text)) {
        const ref = localRef(piece);
        if (!ref || piece.text.includes('worker_local')) continue;
        for (const here of [elsewhere, dirname(file), ROOT]) {
          assert.ok(await locate(ref, [here, dirname(file)]), `${ref.text} of ${file}`);
        }
        found++;
      }
    }
    assert.ok(found >= 10, String(found));
  });

  it('have paths that go up only through folders that they name themselves', async (t) => {
    const root = await temporaryDirectory(t);
    const folder = join(root, 'lab', 'jobs');
    await mkdir(folder, { recursive: true });
    await writeFile(join(root, 'corn.csv'), '');
    await writeFile(join(root, 'lab', 'corn.csv'), '');
    const place = (path: string) => {
      const text = JSON.stringify({ dataset: { kind: 'shared_path', path } });
      const [ref] = references(text).map(localRef);
      assert.ok(ref);
      return locate(ref, [folder]);
    };
    assert.equal(await place('lab/corn.csv'), join(root, 'lab', 'corn.csv'));
    await assert.rejects(place('corn.csv'), /there is no .*jobs\/corn\.csv to upload/);
  });

  it('show no token where others see it, and keep it out of the repository', async () => {
    const pages = filesBelow(ROOT, (name) => name.endsWith('.md'));
    assert.ok(pages.length >= 20);
    for (const page of pages) {
      const text = await readFile(join(ROOT, page), 'utf8');
      assert.doesNotMatch(text, /^\s*(JQ_\w+=\S+ )*(bin\/)?(jq-server|jq-worker|jqctl)\b.*--token/m, page);
      assert.doesNotMatch(text, /--principal [a-z]+:[^ ]/, page);
    }
    assert.match(await readFile(join(ROOT, '.gitignore'), 'utf8'), /^\/token$/m);
  });
});
