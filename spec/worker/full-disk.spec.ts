// A disk that becomes full in the middle of a write takes a part of it, and says how much, not that it is full.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { AttemptNote } from '../../actors/worker/child/leftovers.ts';
import { writeHashed } from '../../actors/worker/inputs/hashed.ts';
import { requires } from '../support/requires.ts';
import { smallDisk } from './small-disk.ts';

/** Bytes of a page, as memory is given. */
const PAGE = 4096;
const FULL = { code: 'ENOSPC' };
const never = new AbortController().signal;

describe('on a disk that has room for a part of it', requires('small disk'), () => {
  it('an input is not taken for whole', async (t) => {
    const disk = smallDisk(t, 1);
    disk.fill(PAGE);
    const body = Readable.from([Buffer.alloc(2 * PAGE, 'x')]);
    await assert.rejects(
      writeHashed(body, join(disk.path, 'input'), never, (fault) => fault),
      FULL,
    );
  });

  it('a note of an attempt is not taken for written', (t) => {
    const disk = smallDisk(t, 1);
    disk.fill(PAGE);
    const about = { task_id: 'x'.repeat(2 * PAGE) };
    assert.throws(() => new AttemptNote(join(disk.path, 'attempt.json'), about, 'mark', null), FULL);
  });
});
