import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shortNames } from '../../machines/results/short-names.ts';

describe('names in a picture', () => {
  it('stay whole where there is room for all of them', () => {
    assert.deepEqual(shortNames(['snv on corn', 'pls on corn'], 12), ['snv on corn', 'pls on corn']);
  });

  it('leave out the steps that all of them have', () => {
    const names = [2, 3, 14].map((n) => `savitzky_golay(window=11) » pls(components=${n})`);
    assert.deepEqual(
      shortNames(names, 23),
      [2, 3, 14].map((n) => `… » pls(components=${n})`),
    );
  });

  it('are cut where the most of them differ', () => {
    assert.deepEqual(shortNames(['first derivative', 'second derivative'], 8), ['first d…', 'second …']);
    assert.deepEqual(shortNames(['derivative first', 'derivative second'], 8), ['deri…rst', 'deri…ond']);
    assert.deepEqual(
      shortNames(['a derivative of order one', 'a derivative of order two', 'b derivative of order two'], 9),
      ['a de… one', 'a de… two', 'b de… two'],
    );
    const inside = [2, 3].map((n) => `pls(components=${n}, scale=true, centre=true)`);
    assert.deepEqual(shortNames(inside, 12), ['…2, scale=t…', '…3, scale=t…']);
  });

  it('are none where nothing is named', () => {
    assert.deepEqual(shortNames([], 5), []);
  });
});
