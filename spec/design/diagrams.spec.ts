import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { MACHINES } from '../../machines/charts/catalogue.ts';
import { chartOf } from '../../machines/charts/graph.ts';
import { MACHINE_NAMES } from '../../machines/charts/names.ts';
import { README, withDiagrams } from './diagrams.ts';

const OUT_OF_DATE = 'the diagrams in README.md are out of date; draw them anew with: npm run diagrams';

describe('the diagrams in the README', () => {
  test('are those of the machines that run', async () => {
    const readme = await readFile(README, 'utf8');
    // Not compared as a whole, so that a failure is one sentence.
    assert.ok(withDiagrams(readme) === readme, OUT_OF_DATE);
  });

  test('show every machine with every state', async () => {
    const readme = await readFile(README, 'utf8');
    for (const name of MACHINE_NAMES) {
      const [, after = ''] = readme.split(`**\`${name}\`**`);
      const [diagram = ''] = (after.split('```mermaid\n')[1] ?? '').split('```');
      for (const { id, key, parent } of chartOf(MACHINES[name].machine).states) {
        if (parent === null) continue;
        assert.ok(diagram.includes(`state "${key}" as ${id.replaceAll('.', '_')}`), `${name}: ${id}`);
      }
    }
  });

  test('are found out of date when a state is missing, and drawing them anew mends it', async () => {
    const readme = await readFile(README, 'utf8');
    const old = readme.replace('  state "leased" as task_leased\n', '');
    assert.notEqual(old, readme);
    assert.equal(withDiagrams(old), readme);
  });

  test('leave everything around them as it is', () => {
    const [begin, end] = [
      '<!-- diagrams: made from the code by `npm run diagrams` -->',
      '<!-- diagrams: end -->',
    ];
    const drawn = withDiagrams(`before\n${begin}\nold\n${end}\nafter\n`);
    assert.match(drawn, /^before\n<!--/);
    assert.match(drawn, /<!-- diagrams: end -->\nafter\n$/);
    assert.doesNotMatch(drawn, /old/);
    assert.throws(() => withDiagrams('no place'), /no place for diagrams/);
  });
});
