import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ZipFile } from 'yazl';
import { zipFolder } from '../../actors/worker/delivery/pack.ts';
import { InputError } from '../../actors/worker/errors.ts';
import { LIMITS, unzip, type ZipLimits } from '../../actors/worker/inputs/zip.ts';
import { temporaryFolder } from './folder.ts';
import { type RawEntry, rawZip } from './raw-zip.ts';

/** Unpacks into `<folder>/out`; the folder above shows whether anything was written outside. */
async function unpack(t: TestContext, archive: Buffer, limits: Partial<ZipLimits> = {}): Promise<string> {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'in.zip'), archive);
  await unzip(join(folder, 'in.zip'), join(folder, 'out'), 'the archive', { ...LIMITS, ...limits });
  return join(folder, 'out');
}

const packed = async (entries: Record<string, Buffer>): Promise<Buffer> => {
  const zip = new ZipFile();
  for (const [name, bytes] of Object.entries(entries)) zip.addBuffer(bytes, name);
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

describe('unpacking an archive', () => {
  it('writes its files and folders', async (t) => {
    const out = await unpack(
      t,
      await packed({ 'a.csv': Buffer.from('1,2'), 'deep/er/b.csv': Buffer.from('3') }),
    );
    assert.equal(await readFile(join(out, 'a.csv'), 'utf8'), '1,2');
    assert.equal(await readFile(join(out, 'deep/er/b.csv'), 'utf8'), '3');
  });

  it('ignores the files that macOS adds', async (t) => {
    const out = await unpack(t, rawZip([{ name: 'x.csv' }, { name: '__MACOSX/._x.csv' }]));
    assert.deepEqual(await readdir(out), ['x.csv']);
  });

  const refused: [string, RawEntry[], RegExp][] = [
    ['an empty part', [{ name: 'a//b' }], /refused entry name/],
    ['a wrong checksum', [{ name: 'a', data: 'x', crc: 1 }], /checksum of 'a'/],
  ];
  for (const [what, entries, message] of refused) {
    it(`refuses ${what}`, async (t) => {
      const attempt = unpack(t, rawZip(entries));
      await assert.rejects(attempt, (fault) => fault instanceof InputError && message.test(fault.message));
    });
  }

  it('counts the folders that only the files in them name', async (t) => {
    const deep = (n: number) => `${n}/${Array(10).fill('d').join('/')}/f`;
    const archive = rawZip([0, 1].map((n) => ({ name: deep(n) })));
    await unpack(t, archive, { entries: 24 });
    const refused = (fault: Error) =>
      fault instanceof InputError && /more than 23 files and folders/.test(fault.message);
    await assert.rejects(unpack(t, archive, { entries: 23 }), refused);
  });

  it('refuses one that has more entries than its end tells of, as writers without zip64 make them', async (t) => {
    const archive = rawZip([{ name: 'a' }, { name: 'b' }]);
    archive.writeUInt16LE(1, archive.length - 12);
    const refused = (fault: Error) =>
      fault instanceof InputError && /more entries than the 1 /.test(fault.message);
    await assert.rejects(unpack(t, archive), refused);
  });

  it('closes the archive that it refused', async (t) => {
    const open = async () => (await readdir('/proc/self/fd')).length;
    const bad = [rawZip([{ name: 'a' }, { name: '../evil' }]), rawZip([{ name: 'a' }, { name: 'b' }])];
    for (const archive of bad) await assert.rejects(unpack(t, archive, { entries: 1 }));
    const before = await open();
    for (const archive of bad) await assert.rejects(unpack(t, archive, { entries: 1 }));
    assert.equal(await open(), before);
  });

  it('refuses too many bytes', async (t) => {
    const archive = await packed({ a: Buffer.alloc(600, 'a'), b: Buffer.alloc(600, 'b') });
    await assert.rejects(unpack(t, archive, { totalBytes: 1000 }), /more than 1000 bytes/);
  });

  it('refuses an archive whose content is damaged', async (t) => {
    const bytes = await packed({
      'a.csv': Buffer.from('some text that is long enough to be deflated, deflated'),
    });
    bytes.fill(0xff, 40, 60);
    await assert.rejects(unpack(t, bytes), InputError);
  });

  it('distinguishes a full disk from a bad archive', async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'in.zip'), rawZip([{ name: 'a' }]));
    await writeFile(join(folder, 'out'), 'a file in the way');
    const attempt = unzip(join(folder, 'in.zip'), join(folder, 'out'), 'it');
    await assert.rejects(attempt, (fault) => !(fault instanceof InputError));
  });
});

describe('packing a workspace', () => {
  it('keeps files and empty folders, and leaves links out', async (t) => {
    const folder = await temporaryFolder(t);
    const archive = join(await temporaryFolder(t), 'w.zip');
    await writeFile(join(folder, 'notes.txt'), 'kept');
    await symlink('/etc/passwd', join(folder, 'link'));
    const big = createWriteStream(join(folder, 'big.bin'));
    big.end(Buffer.alloc(300_000, 'q'));
    await once(big, 'close');
    await zipFolder(folder, archive);
    const out = await unpack(t, await readFile(archive));
    assert.deepEqual((await readdir(out)).sort(), ['big.bin', 'notes.txt']);
    assert.equal(await readFile(join(out, 'notes.txt'), 'utf8'), 'kept');
  });

  it('fails, rather than hangs, for a folder that is not there', async (t) => {
    const folder = await temporaryFolder(t);
    await assert.rejects(zipFolder(join(folder, 'none'), join(folder, 'w.zip')), /ENOENT/);
  });
});
