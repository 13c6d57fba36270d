import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { SmallDisk } from '../support/small-disk.ts';
import { atEnd } from './folder.ts';

/** A small file system of the test's own, gone at its end. */
export function smallDisk(t: TestContext, mebibytes: number): SmallDisk {
  const disk = SmallDisk.mount(mebibytes) ?? assert.fail('no small file system');
  atEnd(t, () => disk.unmount());
  return disk;
}
