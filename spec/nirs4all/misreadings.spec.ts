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

/** What nirs4all reads without a word, and what has to be said instead. */
const MISREAD: Record<string, { x?: Cells; y?: Cells; says: RegExp }> = {
  'an index without a name beside the spectra': {
    x: beside(SPECTRA, '', String),
    says: /train_x\.csv: column 1 \(""\) tells the samples apart, and nirs4all would take it for a wavelength; delete/,
  },
  'numbers of samples beside the spectra': {
    x: beside(SPECTRA, 'sample', (row) => String(900 - row)),
    says: /train_x\.csv: column 1 \("sample"\) tells the samples apart/,
  },
  'sample ids beside the reference values': {
    y: beside(VALUES, 'Probe', (row) => `S${row}`),
    says: /train_y\.csv: column 1 \("Probe"\) tells the samples apart, and nirs4all would predict it/,
  },
  'no header above both files': {
    x: SPECTRA.slice(1),
    y: VALUES.slice(1),
    says: /train_x\.csv: the first row \("-0\.05\d+", .*is a spectrum like the others.*write a row of wavelengths/,
  },
  'no header above the reference values': {
    y: VALUES.slice(1),
    says: /train_y\.csv: the first row, "85\.3", is a number like the others.*write the name/,
  },
};

describeWithLibrary('what nirs4all would misread without a word', (runner) => {
  const check = (dataset: string) =>
    run(['check', dataset, '--lib', 'nirs4all', '--python', runner.command[0] as string, '--json']);

  for (const [what, { x = SPECTRA, y = VALUES, says }] of Object.entries(MISREAD)) {
    it(`${what} is refused before the run, with how to correct it`, async () => {
      const { code, stderr } = await check(folder(text(x), text(y)));
      assert.deepEqual([code, says.test(stderr)], [2, true], stderr);
    });
  }

  it('is refused by a run in the same words: exit code 2', async () => {
    const dataset = folder(text(beside(SPECTRA, '', String)), text(VALUES));
    const { code, stderr } = await runTask(runner, { pipeline: pipelineFile('scaled-pls'), dataset });
    assert.equal(code, 2);
    assert.match(stderr, /^Error: train_x\.csv: column 1 \(""\) tells the samples apart/);
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
