import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from './server.ts';

/** Makes state directories for servers on one database: each its own, with the bytes of artifacts in one folder. */
export async function sharingState(t: TestContext): Promise<() => Promise<string>> {
  const objects = join(await temporaryDirectory(t), 'objects');
  await mkdir(objects);
  return async () => {
    const state = await temporaryDirectory(t);
    await symlink(objects, join(state, 'objects'));
    return state;
  };
}
