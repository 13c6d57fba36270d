import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Changes } from '../../actors/server/store/changes.ts';
import { fitsOneStatement, partsOf } from '../../actors/server/store/split-changes.ts';
import { LIST_NAMES } from '../../actors/server/store/turn-sql.ts';
import { RawJson } from '../../machines/json/raw.ts';

const changes = (given: Partial<Record<keyof Changes, unknown[]>>): Changes =>
  ({
    ...Object.fromEntries(LIST_NAMES.map((name) => [name, []])),
    further: [],
    ...given,
  }) as unknown as Changes;
const events = (count: number, length: number) =>
  Array.from({ length: count }, (_, id) => ({
    id,
    message: '',
    data: new RawJson(`"${'x'.repeat(length)}"`),
  }));

describe('a turn that is large', () => {
  for (const [title, given] of [
    ['many rows', changes({ events: events(10_000, 1), tally: [{}] })],
    [
      'long texts',
      changes({ events: events(100, 100_000), changed_tasks: [{ result: 'x'.repeat(2e6), error: null }] }),
    ],
  ] as const) {
    test(`of ${title} is written in parts, each row once and in its order`, () => {
      assert.equal(fitsOneStatement(given), false);
      const parts = [...partsOf(given)];
      assert.ok(parts.length > 4);
      for (const name of LIST_NAMES) {
        assert.deepEqual(
          parts.flatMap((part) => part[name] as unknown[]),
          given[name],
        );
      }
    });
  }

  test('is one part as long as it is small', () => {
    const small = changes({ events: events(100, 10) });
    assert.equal(fitsOneStatement(small), true);
    assert.equal([...partsOf(small)].length, 1);
  });
});
