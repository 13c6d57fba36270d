import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requires } from '../support/requires.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { fullDisk } from './disk.ts';

describe('a disk that becomes full', requires('small disk'), () => {
  test('causes only 503 and 507: reads and heartbeats go on, and with room everything works again', async (t) => {
    const disk = SmallDisk.mount(24);
    assert.ok(disk);
    t.after(() => disk.unmount());
    t.diagnostic(JSON.stringify(await fullDisk(disk, 2)));
  });
});
