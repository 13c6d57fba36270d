import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { handOver, parseOrder } from '../../actors/worker/runners/mljs/hand-over.ts';
import { datasetOf, refusesInput, scratch } from './mljs-support.ts';

const SPECTRA = [
  [0.1, 0.2, 0.35],
  [0.15, 0.1, 0.2],
  [0.3, 0.25, 0.1],
  [0.2, 0.4, 0.15],
];
const AXIS = ['900 nm', '902 nm', '904 nm'];
const VALUES = [10, 11.5, 9, 12];
const NAMES = ['S1', 'S2', 'S3', 'S4'];
const PLAIN = { train_x: [AXIS, ...SPECTRA.map((row) => row.map(String))], train_y: column('y', VALUES) };

function column(name: string, values: readonly (string | number)[]): string[][] {
  return [[name], ...values.map((value) => [String(value)])];
}

const csv = (header: readonly string[], rows: readonly (readonly (string | number)[])[]) =>
  [header, ...rows].map((row) => row.join(',')).join('\n');

/** What another runner finds, and what it is told. */
function handed(files: Record<string, string>, more: Record<string, unknown> = {}) {
  const to = scratch();
  const told = handOver(parseOrder(JSON.stringify({ dataset: datasetOf(files), to, ...more }))) as {
    names: string[];
    target: string | null;
    warnings: string[];
  };
  const read = (name: string): string[][] =>
    parse(readFileSync(join(to, `${name}.csv`), 'utf8'), { delimiter: ';' });
  const tables = Object.fromEntries(
    readdirSync(to)
      .filter((name) => name.endsWith('.csv'))
      .map((name) => [name.replace('.csv', ''), read(name.replace('.csv', ''))]),
  );
  return { ...told, to, tables };
}

describe('tables that mljs reads for another runner', () => {
  it('are written as plain ones, whatever they came as, with the names of the samples', () => {
    const named = SPECTRA.map((row, i) => [NAMES[i] as string, ...row]);
    const backwards = VALUES.map((value, i) => [NAMES[i] as string, value]).reverse();
    const kinds = {
      'ids in another order': {
        'train_x.csv': csv(['sample', ...AXIS], named),
        'train_y.csv': csv(['sample', 'y'], backwards),
      },
      'one table with words and several values': {
        'grain.csv': csv(
          ['sample', 'site', 'y', 'z', ...AXIS],
          named.map(([name, ...row], i) => [name as string, 'north', VALUES[i] as number, i, ...row]),
        ),
      },
    };
    for (const [what, files] of Object.entries(kinds)) {
      const { tables, names, target } = handed(files, { target: 'y' });
      assert.deepEqual([tables, names, target], [PLAIN, NAMES, 'y'], what);
    }
  });

  it('have words above them where they had no header, which no reader takes for a spectrum', () => {
    const { tables } = handed({
      'train_x.csv': SPECTRA.map((row) => row.join(',')).join('\n'),
      'train_y.csv': VALUES.join('\n'),
    });
    assert.deepEqual(tables.train_x?.[0], ['column 1', 'column 2', 'column 3']);
    assert.deepEqual(tables.train_y?.[0], ['y']);
  });

  it('may have words as reference values, which mljs itself has no use for', () => {
    const files = {
      'train_x.csv': csv(
        ['sample', ...AXIS],
        SPECTRA.map((row, i) => [NAMES[i] as string, ...row]),
      ),
      'train_y.csv': csv(
        ['sample', 'kind'],
        NAMES.map((name, i) => [name, i < 2 ? 'rye' : 'oat']),
      ),
    };
    assert.deepEqual(handed(files).tables.train_y, column('kind', ['rye', 'rye', 'oat', 'oat']));
  });

  it('may be those of which another runner knows the files, whatever they are called', () => {
    const folder = datasetOf({
      'a.csv': csv(AXIS, SPECTRA),
      'b.csv': csv(
        ['y'],
        VALUES.map((v) => [v]),
      ),
    });
    const pair = { x: join(folder, 'a.csv'), y: join(folder, 'b.csv') };
    const { tables, names } = handed({}, { dataset: { train: pair, test: pair } });
    assert.deepEqual(Object.keys(tables), ['test_x', 'test_y', 'train_x', 'train_y']);
    assert.equal(names.length, 8);
  });

  it('are refused as mljs refuses them', () => {
    const files = {
      'train_x.csv': csv(AXIS, SPECTRA),
      'train_y.csv': csv(
        ['y', 'z'],
        VALUES.map((v) => [v, 1]),
      ),
    };
    refusesInput(() => handed(files), /2 columns of reference values, "y", "z"; params\.target says/);
  });

  it('are handed over with their axis where they are to be predicted, and with what is measured of them', () => {
    const table = csv(
      ['sample', 'Y', ...AXIS],
      SPECTRA.map((row, i) => [NAMES[i] as string, i === 0 ? '' : (VALUES[i] as number), ...row]),
    );
    const { to } = handed({ 'new.csv': table }, { predicted: 'y' });
    const [set] = JSON.parse(readFileSync(join(to, 'new-samples.json'), 'utf8'));
    assert.deepEqual(set.x, SPECTRA);
    assert.deepEqual(set.y, [null, ...VALUES.slice(1)]);
    assert.deepEqual([set.names, set.axis], [NAMES, { values: [900, 902, 904], unit: 'nm' }]);
  });
});
