import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { RangeIndex } from '../../actors/server/scheduling/range-index.ts';
import { comparePoints, type Range } from '../../machines/matching/ranges.ts';

const point = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 2 });
const range = fc.record({ from: fc.option(point, { nil: null }), to: fc.option(point, { nil: null }) });

const isIn = (point: readonly number[], { from, to }: Range) =>
  (from === null || comparePoints(from, point) <= 0) && (to === null || comparePoints(point, to) <= 0);

describe('the index of ranges', () => {
  test('finds the ranges that hold a point, whatever ranges were added and removed, equal ones among them', () => {
    const act = fc.record({ range, nth: fc.nat(), stays: fc.boolean() });
    const property = fc.property(
      fc.array(act, { minLength: 1, maxLength: 600, size: 'max' }),
      fc.array(point, { minLength: 1, maxLength: 20 }),
      (acts, points) => {
        const index = new RangeIndex<number>();
        const there = new Map<number, Range>();
        const few = acts.slice(0, 8).map((one) => one.range);
        for (const [item, one] of acts.entries()) {
          // Half of them are about one of a few ranges.
          const range = item % 2 > 0 ? one.range : (few[one.nth % few.length] as Range);
          index.add(item, range);
          there.set(item, range);
          if (one.stays) continue;
          const [gone, its] = [...there][one.nth % there.size] as [number, Range];
          index.delete(gone, its);
          there.delete(gone);
        }
        for (const point of points) {
          const found: number[] = [];
          index.at(point, (item) => found.push(item));
          const expected = [...there].filter(([, range]) => isIn(point, range)).map(([item]) => item);
          assert.deepEqual(
            found.sort((a, b) => a - b),
            expected.sort((a, b) => a - b),
          );
        }
        for (const [item, range] of there) index.delete(item, range);
        assert.ok(index.isEmpty);
      },
    );
    fc.assert(property, { seed: 20261129, numRuns: 200 });
  });
});
