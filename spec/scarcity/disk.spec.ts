import { describe, test } from 'node:test';
import { fullDisk } from './disk.ts';
import { SmallDisk } from './small-disk.ts';

describe('a disk that runs full', () => {
  test('is felt as 503 and 507 alone: reads and heartbeats go on, and with room all works again', async (t) => {
    const disk = SmallDisk.mount(24);
    if (disk === null) return t.skip('left out: this process may not mount a small file system');
    t.after(() => disk.unmount());
    t.diagnostic(JSON.stringify(await fullDisk(disk, 2)));
  });
});
