import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { failedBy } from '../../actors/worker/attempt/failure.ts';
import { probeDisk } from '../../actors/worker/disk.ts';
import { InputError, WorkerError } from '../../actors/worker/errors.ts';
import { tryLock } from '../../actors/worker/inputs/cache/entry-lock.ts';
import { requires } from '../support/requires.ts';
import { temporaryFolder } from './folder.ts';
import { smallDisk } from './small-disk.ts';

const systemError = (code: string, syscall = 'write') =>
  Object.assign(new Error(`${code}: as the system says, ${syscall}`), { code, syscall });

describe('how a worker reports what went wrong', () => {
  for (const [code, words] of [
    ['ENOSPC', /its disk is full/],
    ['EDQUOT', /its disk quota/],
    ['EROFS', /cannot be written to/],
    ['EIO', /gives errors/],
    ['EACCES', /may not use its own files/],
    ['EMFILE', /no file descriptors left/],
    ['ENOMEM', /memory is used up/],
    ['ENOENT', /cannot use its own files/],
  ] as const) {
    it(`${code} of its own files is its own fault, which another worker may not have`, () => {
      const { failure, own } = failedBy(systemError(code));
      assert.deepEqual([failure.fault, failure.retriable, own], ['worker', true, true]);
      assert.match(failure.error, words);
      assert.match(failure.error, new RegExp(code));
    });
  }

  it('a program that cannot be started is its own fault', async () => {
    const fault = await new Promise((resolve) => spawn('/no/such/python').once('error', resolve));
    const { failure, own } = failedBy(fault);
    assert.deepEqual([failure.fault, own], ['worker', true]);
    assert.match(failure.error, /cannot start the runner \(spawn \/no\/such\/python ENOENT\)/);
  });

  it('a database of its own that it cannot open is its own fault', async (t) => {
    const path = join(await temporaryFolder(t), 'lock');
    await mkdir(path);
    const fault = await tryLock(path, 'exclusive').catch((thrown: unknown) => thrown);
    assert.deepEqual([failedBy(fault).failure.fault, failedBy(fault).own], ['worker', true]);
  });

  it('what the job names wrongly is a fault of the input, which is final', () => {
    const { failure, own } = failedBy(new InputError('not a zip'));
    assert.deepEqual(failure, { error: 'not a zip', retriable: false, fault: 'input' });
    assert.equal(own, undefined);
  });

  it('an error that concerns this worker alone is reported as its fault', () => {
    const fault = new WorkerError('no such share', { missingPath: '/mnt/x' });
    const failure = { error: 'no such share', retriable: true, fault: 'worker', missing_path: '/mnt/x' };
    assert.deepEqual(failedBy(fault), { verb: 'fail', failure });
  });

  it('anything else is a failure of the task, which is tried again', () => {
    assert.deepEqual(failedBy(new Error('odd')).failure, { error: 'odd', retriable: true, fault: 'task' });
    assert.equal(failedBy('odd').failure.error, 'odd');
  });
});

describe('a check whether a disk works', () => {
  it('leaves nothing behind, and finds a full one', requires('small disk'), async (t) => {
    const disk = smallDisk(t, 2);
    const before = disk.free;
    await probeDisk(disk.path);
    assert.equal(disk.free, before);
    disk.fill();
    await assert.rejects(probeDisk(disk.path), { code: 'ENOSPC' });
    disk.clear();
    await probeDisk(disk.path);
  });

  it('finds a folder that is gone, or is not a folder', async (t) => {
    const folder = await temporaryFolder(t);
    await assert.rejects(probeDisk(join(folder, 'gone')), { code: 'ENOENT' });
    await writeFile(join(folder, 'file'), '');
    await assert.rejects(probeDisk(join(folder, 'file')), { code: 'ENOTDIR' });
  });
});
