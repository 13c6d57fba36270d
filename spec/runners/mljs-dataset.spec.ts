import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readDataset } from '../../actors/worker/runners/mljs/dataset.ts';
import { datasetOf, refusesInput } from './mljs-support.ts';

const X = [
  [1, 2.5, 3],
  [4, -5.25, 6000],
];
const Y = [7.5, 8];
const read = (files: Record<string, string>) => readDataset(datasetOf(files));

describe('a dataset folder', () => {
  const forms: [string, string, string][] = [
    ['commas', '1,2.5,3\n4,-5.25,6e3\n', '7.5\n8\n'],
    ['a quoted header row of numbers', '"900","902","904"\n1,2.5,3\n4,-5.25,6e3', '"1"\n7.5\n8'],
    ['every cell quoted and no header', '"1","2.5","3"\n"4","-5.25","6000"\n', '"7.5"\n"8"\n'],
    ['tabs and decimal commas', '1,0\t2,5\t3,0\n4,0\t-5,25\t6e3\n', '7,5\n8,0\n'],
    ['a header with the other delimiters in quotes', '"a;1","b\t2","c"\n1,2.5,3\n4,-5.25,6e3\n', '7.5\n8\n'],
    ['a byte order mark', '\uFEFF"a"\t"b"\t"c"\n1\t2.5\t3\n4\t-5.25\t6e3\n', '\uFEFF"y"\n7.5\n8'],
    ['CRLF, blanks and empty lines', 'a,b,c\r\n1, 2.5 ,3\r\n\r\n4,-5.25,6e3\r\n', '7.5\r\n8'],
  ];
  for (const [title, x, y] of forms) {
    it(`is read with ${title}`, () => {
      const { train, test } = read({ 'train_x.csv': x, 'train_y.csv': y });
      assert.deepEqual(train, { source: 'train_x.csv', x: X, y: Y, names: ['1', '2'] });
      assert.equal(test, null);
    });
  }

  it('gives the column names as written, or null without a header row', () => {
    const named = read({ 'train_x.csv': '"900 nm","902 nm"\n1,2\n3,4', 'train_y.csv': '"octane"\n1\n2' });
    assert.deepEqual([named.columns, named.target], [['900 nm', '902 nm'], 'octane']);
    const plain = read({ 'train_x.csv': '1,2\n3,4', 'train_y.csv': '1\n2' });
    assert.deepEqual([plain.columns, plain.target], [null, null]);
  });

  it('gives test rows if it has both test files', () => {
    const files = { 'train_x.csv': 'a,b\n1,2\n3,4', 'train_y.csv': '1\n2' };
    const { test } = read({ ...files, 'test_x.csv': 'a,b\n5,6', 'test_y.csv': 'y\n3' });
    assert.deepEqual(test, { source: 'test_x.csv', x: [[5, 6]], y: [3], names: ['1'] });
  });
});

describe('a dataset folder is refused', () => {
  const x = '1,2\n3,4\n5,6\n';
  const y = '1\n2\n3\n';
  const faults: [string, Record<string, string>, RegExp][] = [
    [
      'without train_x.csv',
      { 'train_y.csv': y },
      /^train_y\.csv is there but train_x\.csv is missing in .*; the folder has train_y\.csv$/,
    ],
    [
      'without train_y.csv',
      { 'train_x.csv': x },
      /^train_x\.csv is there but train_y\.csv is missing in .*; the folder has train_x\.csv$/,
    ],
    ['with an empty file', { 'train_x.csv': '\n', 'train_y.csv': y }, /^train_x\.csv: the file is empty$/],
    ['with a header only', { 'train_x.csv': 'a,b\n', 'train_y.csv': y }, /^train_x\.csv: no rows of data$/],
    [
      'with a word for a number',
      { 'train_x.csv': 'a,b\n1,2\n\n3,x4\n5,6', 'train_y.csv': y },
      /^train_x\.csv:4: column 2 \("b"\) is not a finite number: "x4"$/,
    ],
    [
      'with NaN',
      { 'train_x.csv': '1,2\nNaN,4\n5,6', 'train_y.csv': y },
      /^train_x\.csv:2: column 1 .*"NaN"$/,
    ],
    ['with NaN at the start', { 'train_x.csv': 'NaN,2\n3,4\n5,6', 'train_y.csv': y }, /^train_x\.csv:1: /],
    [
      'with infinity',
      { 'train_x.csv': '1,2\n3,1e999\n5,6', 'train_y.csv': y },
      /^train_x\.csv:2: .*"1e999"$/,
    ],
    [
      'with a gap',
      { 'train_x.csv': '1,2\n3,\n5,6', 'train_y.csv': y },
      /^train_x\.csv:2: column 2 is empty$/,
    ],
    [
      'with a short row',
      { 'train_x.csv': '1,2\n3\n5,6', 'train_y.csv': y },
      /^train_x\.csv:2: 1 cells where other rows have 2$/,
    ],
    ['with an open quote', { 'train_x.csv': '1,2\n"3,4\n5,6', 'train_y.csv': y }, /^train_x\.csv: Quote/],
    [
      'with two columns of reference values',
      { 'train_x.csv': x, 'train_y.csv': '1,5\n2,5\n3,5\n' },
      /^train_y\.csv: "1,5" can be one number with a decimal comma or two columns; /,
    ],
    [
      'with a constant y',
      { 'train_x.csv': x, 'train_y.csv': '2\n2\n2' },
      /^train_y\.csv: all values are the same/,
    ],
    [
      'with test_x.csv but no test_y.csv',
      { 'train_x.csv': x, 'train_y.csv': y, 'test_x.csv': x },
      /^test_x\.csv is there but test_y\.csv is missing/,
    ],
    [
      'with test spectra of another length',
      { 'train_x.csv': x, 'train_y.csv': y, 'test_x.csv': '1,2,3', 'test_y.csv': '1' },
      /^test_x\.csv has 3 columns, train_x\.csv has 2$/,
    ],
    [
      'with test columns in another order',
      { 'train_x.csv': `a,b\n${x}`, 'train_y.csv': y, 'test_x.csv': 'b,a\n1,2', 'test_y.csv': '1' },
      /^column 1 is "b" in test_x\.csv, "a" in train_x\.csv$/,
    ],
  ];
  for (const [title, files, message] of faults) {
    it(title, () => refusesInput(() => read(files), message));
  }
});
