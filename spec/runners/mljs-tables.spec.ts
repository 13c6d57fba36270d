import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readDataset } from '../../actors/worker/runners/mljs/dataset.ts';
import { readNewSamples } from '../../actors/worker/runners/mljs/new-samples.ts';
import { datasetOf, runHere } from './mljs-support.ts';
import {
  type Bytes,
  before,
  column,
  counter,
  folder,
  headed,
  isPlain,
  pair,
  ROWS,
  refuses,
  text,
  WAVELENGTHS,
  X,
  Y,
} from './mljs-table-files.ts';

const utf16 = (content: string, swapped = false): Buffer => {
  const bytes = Buffer.from(content, 'utf16le');
  return swapped ? bytes.swap16() : bytes;
};

describe('spectra as instruments and spreadsheets write them are read as the same numbers', () => {
  const forms: [string, Bytes, Bytes?][] = [
    ['with bare wavelengths above commas', text(headed())],
    ['with bare wavelengths above semicolons', text(headed(), ';')],
    ['with bare wavelengths above tabs', text(headed(), '\t')],
    ['with bare wavelengths above blanks', text(headed(), '  ')],
    ['with falling wavenumbers', text(headed(WAVELENGTHS.map((nm) => (1e7 / nm).toFixed(1))))],
    ['with units in the names', text(headed(WAVELENGTHS.map((nm) => `"${nm} nm"`)))],
    ['with names as R makes them', text(headed(WAVELENGTHS.map((nm) => `X${nm}`)))],
    ['with decimal commas', text(headed(), ';', ','), text(column(), ';', ',')],
    [
      'with decimal commas in quotes',
      text(headed().map((row) => row.map((cell) => `"${cell}"`.replace('.', ',')))),
      text(column(), ';', ','),
    ],
    ['with decimal commas in a single column', text(headed(), ';', ','), text(column(), ',', ',')],
    [
      'with decimal commas in a single column without a name',
      text(headed(), ';', ','),
      text(column(null), ',', ','),
    ],
    ['with a UTF-8 byte order mark', `\uFEFF${text(headed())}`, `\uFEFF${text(column())}`],
    ['in UTF-16, little end first', utf16(`\uFEFF${text(headed(), '\t')}`), utf16(`\uFEFF${text(column())}`)],
    [
      'in UTF-16, big end first',
      utf16(`\uFEFF${text(headed())}`, true),
      utf16(`\uFEFF${text(column())}`, true),
    ],
    ['in UTF-16 without a mark', utf16(text(headed())), utf16(text(column()), true)],
    ['in Latin-1', text(headed()), Buffer.from(text(column('Säurezahl')), 'latin1')],
    ['with the line ends of Windows', text(headed()).replaceAll('\n', '\r\n')],
    ['with the line ends of old Macs', text(headed()).replaceAll('\n', '\r')],
    [
      'with a line that tells Excel the delimiter',
      `sep=;\n${text(headed(), ';')}`,
      `sep=;\n${text(column())}`,
    ],
    ['with a delimiter that only a line for Excel names', `sep=|\n${text(headed(), '|')}`],
    [
      'below comments',
      `# instrument 7, serial 12\n# 2026-03-01\n${text(headed())}`,
      `# lab\n${text(column())}`,
    ],
    ['below a header that NumPy made a comment', `# ${text(headed())}`],
    ['with a delimiter at the end of each row', text(headed(), ',').replaceAll('\n', ',\n')],
    ['with empty rows at the end, as spreadsheets leave them', `${text(headed(), ';')};;;;;;\n;;;;;;\n`],
    ['with an empty line below the name', text(headed()), `octane\n\n${text(column(null))}`],
    [
      'with columns that are named by numbers from 0, as pandas does',
      text(headed(WAVELENGTHS.map((_, i) => i))),
    ],
  ];
  for (const [title, x, y] of forms) {
    it(title, () => assert.deepEqual(isPlain(pair(x, y)), []));
  }

  it('and give the same error of prediction, to the last digit', () => {
    const pipeline = [{ pls: { components: 2 } }, { cross_validation: { leave_one_out: true } }];
    const rmse = (dataset: string) => runHere({ pipeline, dataset }).metrics.best_rmse;
    const plain = rmse(pair(text(headed(WAVELENGTHS.map((nm) => `"${nm} nm"`)))));
    for (const [, x, y] of forms) assert.equal(rmse(pair(x, y)), plain);
  });

  it('whatever case and ending their names have', () => {
    isPlain(folder({ 'Train_X.CSV': text(headed()), 'train_y.txt': text(column()) }));
  });
});

describe('a first row of numbers', () => {
  const rising = X.map((_, i) => WAVELENGTHS.map((_, j) => 900 + i + 2 * j + (j % 2) / 3));

  it('is a header where it rises or falls and the rows below do not', () => {
    const near = X.map((row) => row.map((value) => value * 1000 + 800));
    assert.equal(readDataset(pair(text(headed(WAVELENGTHS, near)))).train.x.length, ROWS);
  });
  it('is a spectrum where it is like those below', () => {
    assert.equal(isPlain(pair(text(X))).length, 0);
    assert.equal(readDataset(pair(text(rising))).train.x.length, ROWS);
  });
  it('is refused where it can be either, until params.header says which', () => {
    const either = pair(text(headed(WAVELENGTHS, rising)));
    refuses(
      either,
      /^train_x\.csv:1: the first row can be a header or a spectrum .*; params\.header: true or false/,
    );
    assert.equal(readDataset(either, { target: null, header: true }).train.x.length, ROWS);
    refuses(either, /^10 rows of spectra/, { target: null, header: false });
  });
  it('is refused where it is far from the others and in no order', () => {
    const odd = [900, 910, 905, 930, 902, 940, 901];
    refuses(pair(text(headed(odd))), /the first row can be a header or a spectrum of quite other values/);
  });
  it('is refused where a word stands among numbers in no order', () => {
    const typo = (X[0] as number[]).map((value, j) => (j === 3 ? '0.1x' : value));
    refuses(pair(text([typo, ...X.slice(1)])), /header or a spectrum in which "0\.1x" is a typing error/);
  });
  it('of reference values is a header where pandas wrote 0 above them and the counts say so', () => {
    assert.deepEqual(isPlain(pair(text(headed(WAVELENGTHS.map((_, i) => i))), text(column('0')))), [
      'train_y.csv: the first row, "0", was taken for a header',
    ]);
  });
  it('of reference values is refused where it may be one of them; both first rows are named', () => {
    refuses(
      pair(text(headed()), text(column(null, [81.5, ...Y]))),
      /^9 rows of spectra \(train_x\.csv, below its header "900,902,904…"\), 10 of .* begins with "81\.5"\)/,
    );
  });
});

describe('columns that are no part of a spectrum', () => {
  const LEFT_OUT = (name: string) => `${name}: the index column was left out`;

  it('are an index, as pandas writes it, in both files or in one', () => {
    const x = text(before('', counter(0), headed()));
    const y = text(before('', counter(0), column()));
    assert.deepEqual(isPlain(pair(x, y)), [LEFT_OUT('train_x.csv'), LEFT_OUT('train_y.csv')]);
    assert.deepEqual(isPlain(pair(x)), [LEFT_OUT('train_x.csv')]);
    assert.deepEqual(isPlain(pair(text(headed()), y)), [LEFT_OUT('train_y.csv')]);
  });
  it('are row numbers from 1 without a header, or under a name', () => {
    const unnamed = X.map((row, i) => [i + 1, ...row]);
    assert.deepEqual(isPlain(pair(text(unnamed))), [LEFT_OUT('train_x.csv')]);
    const named = text(before('Unnamed: 0', counter(1), headed()));
    assert.deepEqual(isPlain(pair(named)), [LEFT_OUT('train_x.csv')]);
  });
  it('are row names, for which R writes no name', () => {
    const rows = headed().map((row, i) => (i === 0 ? row : [`"${i}"`, ...row]));
    assert.deepEqual(isPlain(pair(text(rows))), [LEFT_OUT('train_x.csv')]);
  });
  it('are other measurements beside wavelengths, which are reported', () => {
    const x = text(
      before(
        'temperature',
        Y.map((_, i) => 20 + (i % 4)),
        headed(),
      ),
    );
    assert.deepEqual(isPlain(pair(x)), ['train_x.csv: no part of the spectra and left out: temperature']);
  });
});

describe('a table is refused, naming the place', () => {
  const holed = (gap: string) => X.map((row, i) => row.map((value, j) => (i === 4 && j === 3 ? gap : value)));
  const faults: [string, string, RegExp][] = [
    [
      'with a gap in a spectrum',
      text(headed(WAVELENGTHS, holed(''))),
      /^train_x\.csv:6: column 4 \("906"\) is empty$/,
    ],
    ['with NA in a spectrum', text(headed(WAVELENGTHS, holed('NA'))), /^train_x\.csv:6: column 4 .*: "NA"$/],
    [
      'with decimal commas and points',
      text(headed(), ';').replace('0.', '0,'),
      /decimal comma, .* decimal point;/,
    ],
    [
      'with thousands separators',
      text(headed(), ';', ',').replace(/0,/, '1.000,'),
      /is not a finite number: "1\.000,/,
    ],
  ];
  for (const [title, x, message] of faults) it(title, () => refuses(pair(x, text(column(), ';')), message));

  it('may be called as nirs4all calls its files', () => {
    const named = folder({ 'Xcal.csv': text(headed()), 'Y_cal.csv': text(column()) });
    assert.deepEqual(isPlain(named), []);
  });

  it('that is missing, with what is there instead', () => {
    const there = folder({ 'Xs.csv': text(headed()), 'Ys.csv': text(column()) });
    refuses(there, /^data file not found: .*train_x\.csv; the folder has Xs\.csv, Ys\.csv$/);
    refuses(datasetOf({}), /^data file not found: .*train_x\.csv; the folder is empty$/);
    refuses(
      folder({ 'train_x.csv': '', 'train_x.txt': '', 'train_y.csv': '' }),
      /has both train_x\.csv and train_x\.txt; keep one of them$/,
    );
  });
});

describe('what is legal and yet rarely meant is a warning', () => {
  it('of columns that stand for one wavelength', () => {
    const names = WAVELENGTHS.map((nm, j) => (j === 3 ? 904 : nm));
    assert.deepEqual(isPlain(pair(text(headed(names)))), [
      'train_x.csv: more than one column stands for 904',
    ]);
  });
  it('of columns that are the same in every sample', () => {
    const dead = X.map((row) => row.map((value, j) => (j === 6 ? 0 : value)));
    const { warnings } = readDataset(pair(text(headed(WAVELENGTHS, dead))));
    assert.deepEqual(warnings, ['train_x.csv: the same in every sample: 912']);
  });
  it('of samples that are called the same', () => {
    const names = Y.map((_, i) => (i < 3 ? 'G046' : i < 5 ? 'G047' : `S${i}`));
    const warning =
      'train_x.csv: samples of the same name, which results do not tell apart: "G046" (3 rows), "G047" (2 rows)';
    const x = text(before('sample', names, headed()));
    assert.ok(isPlain(pair(x)).includes(warning));
    const { warnings } = readNewSamples(folder({ 'new.csv': x }), { target: null, header: null }, null);
    assert.deepEqual(warnings, [warning.replace('train_x', 'new')]);
  });
  it('and is in the result and in the log of the task', () => {
    const dataset = pair(text(before('', counter(0), headed())));
    const { extra, logs } = runHere({ pipeline: [{ pls: { components: 1 } }], dataset });
    assert.deepEqual(extra.warnings, ['train_x.csv: the index column was left out']);
    assert.ok(logs.includes('warning: train_x.csv: the index column was left out'));
  });
});
