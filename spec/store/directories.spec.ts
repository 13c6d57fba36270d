import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeDirectory } from '../../actors/shared/make-directory.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';

describe('a directory with all its parents', () => {
  it('can be made by many at the same time', async (t) => {
    const root = await temporaryDirectory(t);
    const paths = Array.from({ length: 400 }, (_, i) => join(root, `${i % 20}`, 'a', 'b', `${i % 3}`));
    await Promise.all(paths.map(makeDirectory));
    assert.equal((await readdir(root, { recursive: true })).length, 20 * (1 + 2 + 3));
  });

  it('is refused below a file, and where nothing can be made', { ...requires('proc') }, async (t) => {
    const root = await temporaryDirectory(t);
    await writeFile(join(root, 'file'), '');
    await assert.rejects(makeDirectory(join(root, 'file', 'x')), { code: 'ENOTDIR' });
    await assert.rejects(makeDirectory('/proc/nowhere/x'), { code: 'ENOENT' });
  });
});
