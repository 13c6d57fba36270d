import assert from 'node:assert/strict';
import { win32 } from 'node:path';
import { describe, it } from 'node:test';
import type { Entry } from 'yauzl';
import { fitsWindows } from '../../actors/shared/file-names.ts';
import { WorkerError } from '../../actors/worker/errors.ts';
import { locatePath } from '../../actors/worker/inputs/catalog/source.ts';
import { NameLedger } from '../../actors/worker/inputs/zip-names.ts';
import { placesOf } from '../../actors/worker/runners/programs.ts';
import { DistinctNames, safeFileName } from '../../bin/jobs/filenames.ts';
import { markedPath } from '../../bin/jobs/submit/local-refs.ts';
import { entryName } from '../../bin/jobs/submit/zip-folder.ts';

/** Names that mean a device, a stream or another name on Windows. */
const FOREIGN = [
  ...['CON', 'nul.txt', 'Com1.csv', 'LPT9', 'COM\u00b2', 'aux ', 'con .txt', 'CONIN$'],
  ...['a:b', 'model.json:hidden', 'C:', 'what?', 'a*', 'a|b', 'a"b', '<a>', 'tab\there'],
  ...['ends with a dot.', 'ends with a space ', '...', '\\\\server', 'a\\b'],
];
const FINE = [
  'train_x.csv',
  'console.csv',
  'com.csv',
  'COM10',
  'null',
  '.hidden',
  'Maïs ü 玉米',
  'a.b.c',
  "it's",
];

describe('a name that Windows cannot hold', () => {
  it('is recognised, and no other is', () => {
    for (const name of FOREIGN) assert.equal(fitsWindows(name), false, name);
    for (const name of FINE) assert.equal(fitsWindows(name), true, name);
  });

  it('is never given to a download, on any system', () => {
    const names = new DistinctNames();
    for (const name of [...FOREIGN, ...FINE, ...FOREIGN.map((n) => n.toUpperCase())]) {
      const given = names.take(safeFileName(name, 'model'));
      assert.ok(fitsWindows(given), `${name} becomes ${given}`);
    }
  });
});

const entry = (fileName: string) =>
  ({ fileName, externalFileAttributes: 0, isEncrypted: () => false }) as unknown as Entry;

/** Claims the entries of an archive one after another, on a system. */
function claimAll(platform: NodeJS.Platform, names: string[]): string[] {
  const ledger = new NameLedger(platform);
  return names.map((name) => ledger.claim(entry(name))?.name ?? '');
}

describe('an archive with names of other systems', () => {
  it('is refused by a worker on Windows, as a fault of the worker, since another one may hold them', () => {
    for (const name of ['aux.csv', 'ab:c', 'deep/con/x', 'dot./x', 'x ']) {
      assert.throws(() => claimAll('win32', [name]), WorkerError, name);
      assert.deepEqual(claimAll('linux', [name]), [name]);
    }
  });

  it('that differ only in case is refused where they would be one file', () => {
    for (const names of [
      ['A.csv', 'a.csv'],
      ['Deep/x', 'deep/y'],
      ['caf\u00e9', 'cafe\u0301'],
    ]) {
      for (const platform of ['win32', 'darwin'] as const) {
        assert.throws(() => claimAll(platform, names), /cannot tell '.*' from '.*'/);
      }
      assert.deepEqual(claimAll('linux', names), names);
    }
  });

  it('is accepted where every system can hold the names', () => {
    const names = ['data/', 'data/train_x.csv', 'data/train_y.csv', 'data/deep/x'];
    const taken = ['data', ...names.slice(1)];
    for (const platform of ['win32', 'darwin', 'linux'] as const) {
      assert.deepEqual(claimAll(platform, names), taken);
    }
  });
});

describe('with the paths of Windows', () => {
  it('an archive of a folder has slashes in its names', () => {
    assert.equal(entryName('C:\\data\\corn', 'C:\\data\\corn\\deep\\x.csv', win32), 'deep/x.csv');
    assert.equal(entryName('\\\\nas\\spectra', '\\\\nas\\spectra\\x.csv', win32), 'x.csv');
  });

  it('what is marked for upload may be a path of the system, or a file address', () => {
    const marked: [string, string][] = [
      ['file:data\\corn', 'data\\corn'],
      ['file:C:\\data\\corn', 'C:\\data\\corn'],
      ['file:\\\\nas\\spectra', '\\\\nas\\spectra'],
      ['file:///C:/my%20data/corn', 'C:\\my data\\corn'],
      ['file://nas/spectra/corn', '\\\\nas\\spectra\\corn'],
    ];
    for (const [text, path] of marked) assert.equal(markedPath(text, true), path);
    assert.equal(markedPath('file:///my%20data/corn', false), '/my data/corn');
    assert.equal(markedPath('file:data/100%', false), 'data/100%');
    assert.equal(markedPath('file://nas/corn', false), '//nas/corn');
  });

  it('an index names absolute paths by their drive, and relative ones from its own folder', () => {
    const web = { kind: 'http', url: new URL('http://lab.example/sets.yaml') } as const;
    assert.deepEqual(locatePath('D:\\corn.zip', web, 'it', win32), { kind: 'file', path: 'D:\\corn.zip' });
    assert.throws(() => locatePath('corn.zip', web, 'it', win32), /must be absolute/);
    const file = { kind: 'file', path: 'C:\\sets\\index.yaml' } as const;
    assert.equal(locatePath('..\\corn.zip', file, 'it', win32).kind, 'file');
    assert.deepEqual(locatePath('sub/corn.zip', file, 'it', win32), {
      kind: 'file',
      path: 'C:\\sets\\sub\\corn.zip',
    });
  });

  it('a program is looked for in each folder of the path, with the endings that people leave out', () => {
    assert.deepEqual(placesOf('python', 'C:\\py;D:\\tools', 'win32'), [
      ...['C:\\py\\python', 'C:\\py\\python.com', 'C:\\py\\python.exe'],
      ...['D:\\tools\\python', 'D:\\tools\\python.com', 'D:\\tools\\python.exe'],
    ]);
    assert.equal(placesOf('C:\\py\\python.exe', 'D:\\tools', 'win32')[0], 'C:\\py\\python.exe');
    assert.equal(placesOf('.\\run', 'D:\\tools', 'win32').at(-1), '.\\run.exe');
    assert.deepEqual(placesOf('python3', '/usr/bin:/opt/bin', 'linux'), [
      '/usr/bin/python3',
      '/opt/bin/python3',
    ]);
    assert.deepEqual(placesOf('./run', '/usr/bin', 'linux'), ['./run']);
  });
});
