import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Dataset, type DatasetHints, readDataset } from '../../actors/worker/runners/mljs/dataset.ts';
import {
  type Bytes,
  before,
  type Cell,
  column,
  headed,
  IDS,
  NO_HINTS,
  pair,
  ROWS,
  refuses,
  shuffled,
  text,
  WAVELENGTHS,
  X,
  Y,
} from './mljs-table-files.ts';

const counted = (from: number, step = 1) => Y.map((_, i) => from + i * step);
const padded = (numbers: readonly number[], digits: number) =>
  numbers.map((n) => String(n).padStart(digits, '0'));
const NUMBERS = counted(11, 3);
const turned = (rows: readonly (readonly Cell[])[]): Cell[][] =>
  (rows[0] as Cell[]).map((_, j) => rows.map((row) => row[j] as Cell));
const THOUSANDS = Y.map((value) => `1.0${Math.round(value)}`);

/** Reference values, each written in some way. */
const octane = (written: (value: number, i: number) => Cell): string =>
  text(column('octane', Y.map(written)));

const read = (x: Bytes, y: Bytes, hints: Partial<DatasetHints> = {}): Dataset =>
  readDataset(pair(x, y), { ...NO_HINTS, ...hints });

describe('rows are matched by what people call their samples', () => {
  /** Both files with a column of that name, the reference values in another order. */
  const pairs = (name: string, ids: readonly Cell[] = NUMBERS, idsOfY: readonly Cell[] = ids, other = name) =>
    [
      text(before(name, ids, headed()), ';'),
      text(before(other, shuffled(idsOfY), column('octane', shuffled(Y))), ';'),
    ] as const;
  const forms: [string, readonly [string, string]][] = [
    ...[
      'Probe',
      'Probe-Nr.',
      'Proben Nr',
      'Muster',
      'Lfd. Nr.',
      'Échantillon',
      'N° échantillon',
      'Lab ID',
      'Sample #',
    ].map((name) => [`in a column ${name}`, pairs(name)] as [string, readonly [string, string]]),
    ['under different names of that kind', pairs('Probe', NUMBERS, NUMBERS, 'Sample ID')],
    ['under any name that both files have, for whole numbers', pairs('Charge')],
    ['by days, as Excel counts them', pairs('date', counted(45_352, 2))],
    ['where a spreadsheet removed leading zeros', pairs('id', padded(NUMBERS, 4), NUMBERS)],
    [
      'where a spreadsheet removed the leading zeros of some',
      pairs('id', padded(counted(95), 3), counted(95)),
    ],
  ];
  for (const [title, files] of forms) {
    it(title, () => {
      const { train, warnings } = read(...files);
      assert.deepEqual([train.x, train.y], [X, Y]);
      assert.deepEqual(warnings, []);
    });
  }

  it('but not by a measurement in both files', () => {
    const protein = Y.map((value) => value / 7);
    const x = text(before('protein', protein, headed()));
    const y = text(before('protein', protein, column()));
    const { train, target } = read(x, y, { target: 'octane' });
    assert.deepEqual([train.x, train.y, target], [X, Y, 'octane']);
    assert.throws(() => read(x, y), /"protein", "octane"; params.target/);
  });

  it('and not by whole numbers that are the named reference value', () => {
    const whole = Y.map((_, i) => 100 + ((i * 5) % ROWS));
    const y = text(before('rating', whole, column()));
    const { train } = read(text(before('rating', whole, headed())), y, { target: 'rating' });
    assert.deepEqual([train.x, train.y], [X, whole]);
  });
});

describe('a table that is not what it seems is refused, with how to correct it', () => {
  const y = text(column());
  const x = text(headed());
  const square = X.slice(0, 7);
  const few = text(column('octane', Y.slice(0, 7)));
  /** With units below the names. */
  const UNITS = text([['octane'], ['RON'], ...Y.map((v) => [v])]);
  const ABSORBANCE = text([WAVELENGTHS.map(String), WAVELENGTHS.map(() => 'AU'), ...X]);
  const cases: [string, string | Buffer, string, RegExp][] = [
    [
      'a wavelength per row, as instruments export series',
      text(
        [
          ['Wavelength', ...IDS.slice(0, 7)],
          ...turned(square).map((row, j) => [WAVELENGTHS[j] as number, ...row]),
        ],
        '\t',
      ),
      few,
      /train_x.csv: "Wavelength" rises or falls throughout .*transpose the table/,
    ],
    [
      'a wavelength per row, without a header',
      text(turned(square).map((row, j) => [WAVELENGTHS[j] as number, ...row])),
      few,
      /train_x.csv: column 1 rises or falls throughout .*transpose/,
    ],
    [
      'a sample per column, recognised by the counts',
      text([IDS, ...turned(X)]),
      y,
      /as many columns of spectra: transpose/,
    ],
    ['reference values in one row', x, text([Y]), /train_y.csv: the reference values stand in one row/],
    [
      'reference values in one row behind their name',
      x,
      text([
        ['id', ...IDS],
        ['octane', ...Y],
      ]),
      /stand in one row/,
    ],
    [
      'reference values in one row below ids',
      x,
      text([IDS, Y]),
      /train_y.csv: the reference values stand in one row/,
    ],
    ['units below the wavelengths', ABSORBANCE, y, /train_x.csv:2: "AU" stands below the header/],
    ['units below the names of both files', ABSORBANCE, UNITS, /:2: "AU" stands below the header/],
    ['units below the reference values', x, UNITS, /train_y.csv:2: "RON" stands below the header/],
    [
      'a title above the table',
      `Messung vom 3.3.\n${x}`,
      y,
      /train_x.csv:1: 1 cells .*delete what stands above the table, or begin those lines with #/,
    ],
    ['comments of another language', `% instrument 7\n${x}`, y, /train_x.csv:1: .*begin those lines with #/],
    [
      'two files one behind the other',
      text([...headed(WAVELENGTHS, X.slice(0, 5)), ...headed(WAVELENGTHS, X.slice(5))]),
      y,
      /train_x.csv:7: the header stands here again/,
    ],
    [
      'marks for thousands',
      x,
      octane((v) => `1.0${Math.round(v)},5`),
      /such as "1.0\d\d,5", which has a mark for thousands/,
    ],
    [
      'narrow blanks for thousands',
      x,
      octane((v) => `1\u202f0${Math.round(v)},5`),
      /which has a mark for thousands/,
    ],
    [
      'marks for thousands between quotes',
      x,
      octane((v) => `"1,0${Math.round(v)}.5"`),
      /which has a mark for thousands/,
    ],
    [
      'decimal commas between commas',
      text(
        X.map((row) => row.slice(0, 6).map((v) => (v + 1.5).toFixed(4))),
        ',',
        ',',
      ).replaceAll('.', ','),
      y,
      /looks like decimal commas between commas/,
    ],
    [
      'decimal commas between commas below a header',
      text(
        headed(
          WAVELENGTHS,
          X.map((row) => row.map((v) => v + 1.5)),
        ),
        ',',
        ',',
      ),
      y,
      /decimal commas need another delimiter/,
    ],
    [
      'a limit of detection',
      x,
      octane((v, i) => (i === 3 ? '<0.5' : v)),
      /train_y.csv:5: .*"<0.5"; write a number, or leave the cell empty/,
    ],
    ['per cent', x, octane((v) => `${v} %`), /no column of reference values: .*such as "\d.* %"/],
    [
      'a workbook',
      Buffer.from('PK\u0003\u0004\u0014\u0000binary', 'latin1'),
      y,
      /train_x.csv is a workbook or an archive, .*export it as CSV/,
    ],
    ['a web page', '<html><table></table></html>', y, /train_x.csv is a web page or XML/],
    [
      'an unknown delimiter',
      text(headed(), '|'),
      y,
      /no columns of numbers: it begins with "900\|902.*a first line sep=\|/,
    ],
  ];
  for (const [title, files, reference, message] of cases) {
    it(title, () => refuses(pair(files, reference), message));
  }
});

describe('a table that only looks odd is read', () => {
  it('a minus of typesetters', () => {
    const { train } = read(text(headed()).replaceAll('-', '\u2212'), text(column()));
    assert.deepEqual([train.x, train.y], [X, Y]);
    assert.ok(X.flat().some((value) => value < 0));
  });

  it('three decimals in a file whose other numbers have fewer, and absorbances below one', () => {
    const whole = Y.map((value, i) => (i === 0 ? '87,5' : `1,${String(Math.round(value)).padStart(3, '0')}`));
    assert.equal(
      read(text(headed(), ';', ','), text(column('octane', whole))).train.y[1],
      1 + Math.round(Y[1] as number) / 1000,
    );
  });

  it('spectra without wavelengths whose first values happen to rise', () => {
    const rising = X.map((row, i) => [(row[0] as number) / 100 + i / 20, ...row.slice(1)]);
    assert.deepEqual(read(text(rising), text(column())).train.x, rising);
  });

  it('the same spectrum twice', () => {
    const rows = [...X.slice(0, 8), X[0] as number[]];
    assert.deepEqual(read(text(rows), text(column())).train.x, rows);
  });

  it('with a warning: what can be thousands, in quotes or beside decimal commas', () => {
    const quoted = read(
      text(headed()),
      octane((v) => `"1,0${Math.round(v)}"`),
    );
    const beside = read(text(headed(), ';', ','), text(column('octane', THOUSANDS)));
    for (const { train, warnings } of [quoted, beside]) {
      assert.ok((train.y[0] as number) < 2);
      assert.match(
        warnings.join(),
        /^train_y.csv: "1[.,]0\d\d" and the like were read as numbers with three decimals, not as thousands$/,
      );
    }
  });

  it('with a warning: wavelengths in no order, and a row that sums up others', () => {
    const names = ['900 nm', '904 nm', '902 nm', '906 nm', '908 nm', '910 nm', '912 nm'];
    assert.deepEqual(read(text([names, ...X]), text(column())).warnings, [
      'train_x.csv: the wavelengths are in no order',
    ]);
    const ids = [...IDS.slice(0, 8), 'Mean'];
    const { warnings } = read(text(before('id', ids, headed())), text(before('id', ids, column())));
    assert.deepEqual(warnings, [
      'train_x.csv: "Mean" on line 10 was taken for a sample; delete the row if it sums up others',
    ]);
  });
});
