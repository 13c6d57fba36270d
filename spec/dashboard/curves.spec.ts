import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cappedScale, peaksAbove, wholeScale } from '../../gateway/ui/client/model/chart-scale.ts';

const hour = (usual: (minute: number) => number, spikes: Record<number, number> = {}) =>
  Array.from({ length: 60 }, (_, minute) => spikes[minute] ?? usual(minute));

describe('the axis of a curve', () => {
  it('ends a little above the highest value, and never so low that a flat line looks steep', () => {
    assert.deepEqual(cappedScale(hour(() => 0)), { top: 4, capped: false });
    assert.deepEqual(cappedScale(hour((minute) => minute)), { top: 59 * 1.1, capped: false });
    assert.deepEqual(cappedScale([]), { top: 4, capped: false });
  });

  it('ends above the other values where a single peak would flatten them', () => {
    assert.deepEqual(cappedScale(hour((minute) => 10 + (minute % 5), { 30: 5000 })), {
      top: 21,
      capped: true,
    });
    assert.deepEqual(
      cappedScale(hour((minute) => 10 + (minute % 5), { 30: 5000, 31: 900, 50: 7000 })),
      { top: 21, capped: true },
      'several times too',
    );
    assert.deepEqual(cappedScale(hour(() => 0, { 3: 2, 30: 800 })), { top: 4, capped: true });
  });

  it('is not capped where values are often as high, or where there is nothing else to see', () => {
    assert.equal(cappedScale(hour((minute) => (minute % 5 === 0 ? 500 : 3))).capped, false);
    assert.equal(cappedScale(hour(() => 0, { 30: 800 })).capped, false);
    assert.equal(cappedScale(hour(() => 10, { 30: 35 })).capped, false);
  });

  it('is not capped where a high value may last, as that of a queue', () => {
    assert.deepEqual(wholeScale(hour(() => 10, { 30: 5000 })), { top: 5500, capped: false });
  });

  it('marks each time that the line exceeds it once, where the line is highest', () => {
    assert.deepEqual(peaksAbove([1, 50, 90, 60, 1, 1, 70], 20), [2, 6]);
    assert.deepEqual(peaksAbove([90, 1, 50, 90, 90, 1], 20), [0, 3]);
    assert.deepEqual(peaksAbove([1, 2, 3], 20), []);
  });
});
