import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readDataset } from '../../actors/worker/runners/mljs/dataset.ts';
import {
  before,
  type Cell,
  column,
  counter,
  folder,
  headed,
  IDS,
  isPlain,
  pair,
  refuses,
  shuffled,
  text,
  X,
  Y,
} from './mljs-table-files.ts';

describe('rows of the two files are matched', () => {
  const T_IDS = Y.map((_, i) => `T${i}`);
  const x = before('sample', IDS, headed());
  const y = before('sample', IDS, column());

  it('by their ids', () => assert.deepEqual(isPlain(pair(text(x), text(y))), []));
  it('by their ids in any order', () => {
    const [head, ...rows] = y as [Cell[], ...Cell[][]];
    assert.deepEqual(isPlain(pair(text(x), text([head, ...shuffled(rows)]))), []);
  });
  it('by the index of a frame that was put in another order', () => {
    const [head, ...rows] = before('', counter(0), column()) as [Cell[], ...Cell[][]];
    isPlain(pair(text(before('', counter(0), headed())), text([head, ...shuffled(rows)])));
  });
  it('by ids without a header', () => {
    isPlain(pair(text(x.slice(1)), text([y[0] as Cell[], ...shuffled(y.slice(1))])));
  });
  it('by their order where only one file has ids, with a warning', () => {
    assert.deepEqual(isPlain(pair(text(x))), [
      'train_y.csv has no sample ids as train_x.csv has: rows were joined by their order',
    ]);
  });
  it('as far as both files have them, and those left out are reported', () => {
    const others = before('sample', [...IDS.slice(0, 7), 'T1', 'T2'], headed());
    const { train, warnings } = readDataset(pair(text(others), text(y)));
    assert.deepEqual([train.x, train.y], [X.slice(0, 7), Y.slice(0, 7)]);
    assert.deepEqual(warnings, [
      'train_x.csv: left out for want of a reference value: T1, T2',
      `train_y.csv: left out for want of a spectrum: ${IDS[7]}, ${IDS[8]}`,
    ]);
  });

  const faults: [string, string, string, RegExp][] = [
    [
      'an id occurs twice',
      text(before('sample', [...IDS.slice(0, 8), IDS[0] as string], headed())),
      text(y),
      /^train_x\.csv: sample "S000" stands twice, on lines 2 and 10;/,
    ],
    [
      'no id is in both',
      text(before('sample', T_IDS, headed())),
      text(y),
      /no sample id in common \("T0" and "S000", for example\)$/,
    ],
    [
      'both count their rows, but from different numbers',
      text(before('', counter(0), headed())),
      text(before('', counter(1), column())),
      /^train_x\.csv counts its rows from 0, train_y\.csv from 1; /,
    ],
    [
      'both count their rows, and there are more of one',
      text(before('', counter(0), headed())),
      text(before('', counter(0), column()).slice(0, -1)),
      /^9 rows of spectra .*, 8 of reference values/,
    ],
    [
      'the reference values are one fewer',
      text(headed()),
      text(column('octane', Y.slice(1))),
      /^9 rows of spectra \(train_x\.csv, below its header .*\), 8 of reference values \(train_y\.csv, below its header "octane"\)/,
    ],
    [
      'the reference values are one fewer and an empty line follows',
      text(headed()),
      `${text(column('octane', Y.slice(1)))}\n`,
      /^9 rows of spectra .*, 8 of reference values/,
    ],
  ];
  for (const [title, spectra, values, message] of faults) {
    it(`and are refused where ${title}`, () => refuses(pair(spectra, values), message));
  }
});

describe('the reference value', () => {
  const two = [['octane', 'noise'], ...Y.map((value, i) => [value, i % 2])];

  it('is the one that params.target names', () => {
    const path = pair(text(headed()), text(two));
    assert.deepEqual(isPlain(path, { target: 'octane' }), []);
    assert.equal(readDataset(path, { target: 'OCTANE', header: null }).target, 'octane');
  });
  it('is refused where there are several and none is named, with all their names', () => {
    refuses(
      pair(text(headed()), text(two)),
      /2 columns of reference values, "octane", "noise"; params\.target says/,
    );
    refuses(pair(text(headed()), text(two.slice(1))), /2 columns and no header; .* params\.target$/);
  });
  it('is refused where the name is no column', () => {
    const path = pair(text(headed()), text(two));
    refuses(path, /no reference value "octan" \(did you mean "octane"\?\); it has octane, noise$/, {
      target: 'octan',
      header: null,
    });
  });
  it('may stand beside columns of words, which are not reference values', () => {
    const rows = column().map((row, i) => [...row, i === 0 ? 'site' : i % 2 ? 'north' : 'south']);
    assert.deepEqual(isPlain(pair(text(headed()), text(rows))), []);
  });
  for (const gap of ['', 'NA', 'n/a', 'NaN', '-', '#N/A', 'null']) {
    it(`leaves a sample out with a warning where it is ${gap === '' ? 'empty' : `"${gap}"`}`, () => {
      const values = Y.map((value, i) => (i === 3 || i === 5 ? gap : value));
      const { train, warnings } = readDataset(pair(text(headed()), text(column('octane', values))));
      const kept = [0, 1, 2, 4, 6, 7, 8];
      assert.deepEqual([train.x, train.y], [kept.map((i) => X[i]), kept.map((i) => Y[i])]);
      assert.deepEqual(warnings, ['train_y.csv: 2 samples without a reference value left out (line 5, 7)']);
    });
  }
});

describe('one table with everything', () => {
  const table = headed().map((row, i) =>
    i === 0
      ? ['sample', 'site', 'octane', ...row]
      : [IDS[i - 1] as string, i % 2 ? 'north' : 'south', Y[i - 1] as number, ...row],
  );

  it('is the only table of a folder, whatever its name, a file, or train.csv', () => {
    assert.deepEqual(isPlain(folder({ 'grain.csv': text(table), 'Thumbs.db': 'x', 'notes.md': 'x' })), []);
    assert.deepEqual(isPlain(join(folder({ 'grain.tsv': text(table, '\t') }), 'grain.tsv')), []);
    const both = folder({ 'train.csv': text(table), 'test.csv': text(table.slice(0, 4)) });
    assert.equal(readDataset(both).test?.y.length, 3);
  });
  it('has its spectrum where names are wavelengths, and its reference value where params.target says', () => {
    const wider = table.map((row, i) => [i === 0 ? 'noise' : i % 3, ...row]);
    const path = folder({ 'grain.csv': text(wider) });
    assert.deepEqual(isPlain(path, { target: 'octane' }), []);
    refuses(path, /^grain\.csv has 2 columns of reference values, "noise", "octane"; params\.target/);
  });
  it('is refused without wavelengths in its header', () => {
    refuses(folder({ 'grain.csv': text(table.slice(1)) }), /^grain\.csv has no header: one table needs/);
    const named = text(headed(['a', 'b', 'c', 'd', 'e', 'f', 'g']));
    refuses(folder({ 'grain.csv': named }), /^grain\.csv has no columns named by wavelengths/);
  });
});
