import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { InputError } from '../../actors/worker/errors.ts';
import { LIMITS, unzip, type ZipLimits } from '../../actors/worker/inputs/zip.ts';
import { temporaryDirectory } from '../support/server.ts';
import { type RawEntry, rawZip } from '../worker/raw-zip.ts';
import { NASTY_TEXTS } from './nasty.ts';
import { fuzzZips } from './zips.ts';

const MIB = 1024 * 1024;

/** What became of an archive: the names that were written below the target, or why it was refused. */
async function unpack(
  t: TestContext,
  bytes: Buffer,
  limits: Partial<ZipLimits> = {},
): Promise<string[] | string> {
  const folder = await temporaryDirectory(t);
  const archive = join(folder, 'in.zip');
  await writeFile(archive, bytes);
  try {
    await unzip(archive, join(folder, 'out'), 'it', { ...LIMITS, ...limits });
  } catch (fault) {
    assert.ok(fault instanceof InputError, `a fault of the input, not of this machine: ${fault}`);
    return fault.message;
  } finally {
    assert.deepEqual((await readdir(folder)).sort(), ['in.zip', 'out'], 'nothing beside the target');
  }
  return (await readdir(join(folder, 'out'))).sort();
}

/** Flips a bit in the flags of every entry, in both places where they stand. */
function flagged(archive: Buffer, bit: number): Buffer {
  const copy = Buffer.from(archive);
  for (let at = 0; at < copy.length - 4; at++) {
    const signature = copy.readUInt32LE(at);
    if (signature === 0x04034b50) copy.writeUInt16LE(copy.readUInt16LE(at + 6) | bit, at + 6);
    if (signature === 0x02014b50) copy.writeUInt16LE(copy.readUInt16LE(at + 8) | bit, at + 8);
  }
  return copy;
}

/** An archive with one deflated entry, given as its compressed bytes. */
function deflated(compressed: Buffer, size: number): Buffer {
  const archive = rawZip([{ name: 'a', data: compressed.toString('latin1') }]);
  const copy = Buffer.concat([
    archive.subarray(0, 31),
    compressed,
    archive.subarray(archive.indexOf('PK\x01\x02')),
  ]);
  copy.writeUInt16LE(8, 8);
  copy.writeUInt32LE(compressed.length, 18);
  copy.writeUInt32LE(size, 22);
  const central = copy.indexOf('PK\x01\x02');
  copy.writeUInt16LE(8, central + 10);
  copy.writeUInt32LE(compressed.length, central + 20);
  copy.writeUInt32LE(size, central + 24);
  copy.writeUInt32LE(central, copy.length - 6);
  return copy;
}

describe('an archive made to do harm', () => {
  it('is refused or unpacked below its folder, whatever its names are', async (t) => {
    for (const name of NASTY_TEXTS) {
      const outcome = await unpack(t, rawZip([{ name, data: 'x' }]));
      if (typeof outcome === 'string') {
        assert.doesNotMatch(
          outcome,
          /[^\P{Cc}]/u,
          `the message is fit to be read: ${JSON.stringify(outcome)}`,
        );
        continue;
      }
      for (const written of outcome)
        assert.ok(written !== '.' && written !== '..' && !written.includes('\0'), name);
    }
  });

  const climbing = [
    '../a',
    'a/../../b',
    '..\\a',
    '/a',
    '\\a',
    'C:\\a',
    'C:a',
    '//host/a',
    'a/..',
    './../a',
    '..',
  ];
  for (const name of climbing) {
    it(`is refused with an entry '${name}'`, async (t) => {
      assert.match(`${await unpack(t, rawZip([{ name, data: 'x' }]))}`, /^it.*(path|name)/);
    });
  }

  it('is refused with any link, device, pipe or socket, as a file or a folder', async (t) => {
    for (const type of [0o120000, 0o020000, 0o060000, 0o010000, 0o140000]) {
      for (const name of ['a', 'a/']) {
        const outcome = await unpack(
          t,
          rawZip([{ name, data: name === 'a' ? '/etc' : '', mode: type | 0o777 }]),
        );
        assert.match(String(outcome), /neither a plain file nor a folder/, type.toString(8));
      }
    }
  });

  it('makes no file that others may execute or that runs as somebody else', async (t) => {
    const folder = await temporaryDirectory(t);
    await writeFile(join(folder, 'in.zip'), rawZip([{ name: 'a', data: 'x', mode: 0o106777 }]));
    await unzip(join(folder, 'in.zip'), join(folder, 'out'), 'it');
    const { statSync } = await import('node:fs');
    assert.equal(statSync(join(folder, 'out', 'a')).mode & 0o7133, 0);
  });

  it('is refused with a name twice, also as file and folder', async (t) => {
    const twice: RawEntry[][] = [
      [{ name: 'a' }, { name: 'a' }],
      [{ name: 'a' }, { name: 'a/' }],
      [{ name: 'a/b' }, { name: 'a' }],
      [{ name: 'a' }, { name: 'a/b/c' }],
    ];
    for (const entries of twice)
      assert.match(String(await unpack(t, rawZip(entries))), /twice|both a file and/);
    assert.deepEqual(await unpack(t, rawZip([{ name: 'a/' }, { name: 'a/' }, { name: 'a/b' }])), ['a']);
  });

  it('keeps names apart that differ in case or in how their letters are composed, or refuses them', async (t) => {
    for (const names of [
      ['a', 'A'],
      ['é', 'e\u0301'],
      ['ss', 'ß'],
    ]) {
      const outcome = await unpack(t, rawZip(names.map((name) => ({ name, data: name }))));
      assert.ok(typeof outcome === 'string' || outcome.length === 2, `${names}: ${outcome}`);
    }
  });

  it('may declare any number of entries: they are counted', async (t) => {
    const folders = Array.from({ length: 100_000 }, (_, i) => ({ name: `${i % 10}/`, mode: 0o040755 }));
    // The number of entries has two bytes; what they hold is not what is there.
    const bytes = rawZip(folders.slice(0, 65_535));
    const outcome = await unpack(t, bytes);
    assert.match(String(outcome), /it has 65535 entries; 20000 are allowed/);
  });

  it('is refused when it would become far larger than it is, whatever size it declares', async (t) => {
    const bomb = deflateRawSync(Buffer.alloc(64 * MIB), { level: 9 });
    for (const declared of [64 * MIB, 10, 0, 0xfffffffe]) {
      const outcome = await unpack(t, deflated(bomb, declared), { ratioFrom: MIB });
      assert.equal(typeof outcome, 'string', `${declared} bytes declared`);
    }
  });

  it('is refused when it is encrypted, in words that say so', async (t) => {
    // Twelve bytes of key come before the content.
    const bytes = flagged(rawZip([{ name: 'a', data: 'key of 12 b.secret' }]), 1);
    bytes.writeUInt32LE(6, 22);
    bytes.writeUInt32LE(6, bytes.indexOf('PK\x01\x02') + 24);
    assert.match(String(await unpack(t, bytes)), /'a' is encrypted; pack it without a password/);
  });

  it('is refused wherever it is cut off', async (t) => {
    const whole = rawZip([
      { name: 'a', data: 'some text' },
      { name: 'b/c', data: 'more text' },
    ]);
    for (let end = 0; end < whole.length; end++) {
      const outcome = await unpack(t, whole.subarray(0, end));
      assert.match(String(outcome), /not a readable zip archive/, `${end} of ${whole.length} bytes`);
    }
  });

  it('is refused or unpacked, never anything else, with any bytes in it', async () => {
    assert.equal(await fuzzZips({ seed: 41, runs: 300 }), 300);
  });
});
