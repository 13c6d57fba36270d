import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { run } from '../cli/cli-support.ts';
import { describeWithLibrary } from './python.ts';
import { GASOLINE_COMMA, pipelineFile, runTask, scratch } from './support.ts';

type Cells = string[][];
const read = (name: string): Cells =>
  readFileSync(join(GASOLINE_COMMA, `${name}.csv`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.replaceAll('"', '').split(','));
/** Every eighth wavelength, as bare numbers. */
const SPECTRA = read('train_x').map((row, i) =>
  row.filter((_, j) => j % 8 === 0).map((cell) => (i === 0 ? cell.replace(/ nm$/, '') : cell)),
);
const VALUES = read('train_y');

/** A column in front: its name, and what it holds in each row. */
const beside = (table: Cells, name: string, cell: (row: number) => string): Cells =>
  table.map((row, i) => [i === 0 ? name : cell(i - 1), ...row]);
const text = (table: Cells) => table.map((row) => `${row.join(',')}\n`).join('');

function folder(x: string | Buffer, y: string | Buffer): string {
  const path = scratch();
  writeFileSync(join(path, 'train_x.csv'), x);
  writeFileSync(join(path, 'train_y.csv'), y);
  return path;
}

/** What nirs4all would read without a word as something else, and what is said of it. */
const MISREAD: Record<string, { x?: Cells; y?: Cells; params?: string; axis?: null; says: RegExp | null }> = {
  'an index without a name beside the spectra': {
    x: beside(SPECTRA, '', String),
    says: /train_x\.csv: the index column was left out/,
  },
  'numbers of samples beside both, in another order': {
    x: beside(SPECTRA, 'sample', (row) => String(900 - row)),
    y: [
      ['sample', 'octane'],
      ...beside(VALUES, '', (row) => String(900 - row))
        .slice(1)
        .reverse(),
    ],
    says: null,
  },
  'sample ids beside the reference values': {
    y: beside(VALUES, 'Probe', (row) => `S${row}`),
    says: /train_x\.csv has no sample ids as train_y\.csv has: rows were joined by their order/,
  },
  'no header above both files': { x: SPECTRA.slice(1), y: VALUES.slice(1), axis: null, says: null },
  'no header above the reference values': { y: VALUES.slice(1), says: null },
  'one of two reference values': {
    y: beside(VALUES, 'noise', (row) => String((row * 7) % 5)),
    params: 'target=octane',
    says: null,
  },
};

describeWithLibrary('what nirs4all would misread without a word', (runner) => {
  const check = (dataset: string, ...more: string[]) =>
    run(['check', dataset, '--lib', 'nirs4all', '--python', runner.command[0] as string, '--json', ...more]);

  for (const [what, { x = SPECTRA, y = VALUES, params, axis, says }] of Object.entries(MISREAD)) {
    it(`${what}: read by the rules of mljs`, async () => {
      const more = params === undefined ? [] : ['--param', params];
      const { code, stdout, stderr } = await check(folder(text(x), text(y)), ...more);
      assert.equal(code, 0, stderr);
      const found = JSON.parse(stdout);
      assert.deepEqual([found.samples, found.variables, found.targets.length], [60, 51, 1]);
      assert.deepEqual([found.targets[0].min, found.axis === null], [83.4000015258789, axis === null]);
      if (says === null) assert.deepEqual(found.warnings, []);
      else assert.match(found.warnings.join('\n'), says);
    });
  }

  it('is told by the check what a run would not take', async () => {
    const gap = SPECTRA.map((row, i) => (i === 7 ? ['', ...row.slice(1)] : row));
    const inX = await check(folder(text(gap), text(VALUES)));
    assert.deepEqual(
      [inX.code, /train_x\.csv:8: column 1 \("900"\) is empty/.test(inX.stderr)],
      [2, true],
      inX.stderr,
    );
    const short = await check(folder(text(SPECTRA), text(VALUES.slice(0, -1))));
    assert.equal(short.code, 2);
    assert.match(short.stderr, /60 rows of spectra .*, 59 of reference values/);
  });

  it('gives the same scores as the plain tables, by the names of the samples', async () => {
    const plain = folder(text(SPECTRA), text(VALUES));
    const all = SPECTRA.map((row, i) => [
      i === 0 ? 'id' : `S${i}`,
      i === 0 ? 'site' : 'north',
      ...(VALUES[i] as string[]),
      ...row,
    ]);
    const one = scratch();
    writeFileSync(join(one, 'grain.csv'), text(all.slice(0, 1).concat(all.slice(1))));
    const pipeline = pipelineFile('scaled-pls');
    const [a, b] = await Promise.all([
      runTask(runner, { pipeline, dataset: plain }),
      runTask(runner, { pipeline, dataset: one, params: { target: 'octane' } }),
    ]);
    assert.deepEqual([a.code, b.code], [0, 0], a.stderr + b.stderr);
    assert.deepEqual(b.result().metrics, a.result().metrics);
    const rows = (path: string) =>
      readFileSync(join(path, 'output/predictions.csv'), 'utf8').trim().split('\n').slice(1);
    const [numbered, named] = [rows(a.folder), rows(b.folder)];
    assert.deepEqual(
      named,
      numbered.map((row) => `S${row}`),
    );
    assert.match(named[0] as string, /,octane$/);
    const { extra } = b.result();
    assert.deepEqual([extra.validation, extra.target], ['k_fold', 'octane']);
  });

  it('samples that are called the same are told by a check and by a run', async () => {
    const named = SPECTRA.map((row, i) => [i === 0 ? 'sample' : i < 4 ? 'G046' : `S${i}`, ...row]);
    const dataset = folder(text(named), text(VALUES));
    const told = /train_x\.csv: samples of the same name, .*: "G046" \(3 rows\)/;
    const { code, stderr } = await check(dataset);
    assert.equal(code, 0, stderr);
    assert.match(stderr, told);
    const task = await runTask(runner, { pipeline: pipelineFile('scaled-pls'), dataset });
    assert.match(task.result().extra.warnings.join(), told);
  });

  it('several reference values are predicted together, with a warning', async () => {
    const both = beside(VALUES, 'noise', (row) => String((row * 7) % 5));
    const { code, stdout, stderr } = await check(folder(text(SPECTRA), text(both)));
    assert.equal(code, 0, stderr);
    assert.match(stderr, /warning: train_y\.csv: 2 reference values are predicted together: noise, octane/);
    const { targets } = JSON.parse(stdout);
    assert.deepEqual(
      targets.map(({ name }: { name: string }) => name),
      ['noise', 'octane'],
    );
  });

  it('UTF-16, and the line that tells Excel the delimiter, are read as what they are', async () => {
    const utf16 = (table: Cells) => Buffer.from(`\ufeff${text(table).replaceAll(',', '\t')}`, 'utf16le');
    const named = (table: Cells) => `sep=;\r\n${text(table).replaceAll(',', ';')}`;
    for (const dataset of [folder(utf16(SPECTRA), utf16(VALUES)), folder(named(SPECTRA), named(VALUES))]) {
      const { code, stdout, stderr } = await check(dataset);
      assert.equal(code, 0, stderr);
      const { samples, variables, axis, targets, warnings } = JSON.parse(stdout);
      assert.deepEqual([samples, variables, axis.from, axis.to], [60, 51, 900, 1700]);
      assert.deepEqual([targets[0].name, warnings], ['octane', []]);
    }
  });
});
