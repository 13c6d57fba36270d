import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Changes } from '../../actors/server/store/changes.ts';
import type { Table } from '../../actors/server/store/columns.ts';
import { JOBS, TASKS, WORKERS } from '../../actors/server/store/tables.ts';
import { drivers } from './drivers.ts';
import { jobRow, nothing, taskRow, workerRow } from './row-support.ts';

/** What a row needs so that nothing rare is in it. */
const NOTHING_RARE: Record<string, Record<string, unknown>> = {
  job: {
    note: null,
    resubmitted_from: null,
    moved: null,
    tags: [],
    keep: null,
    error: null,
    reuse: null,
    best_model_artifact_id: null,
    standings: [{ ...jobRow.standings[0], best_model_artifact_id: null }],
  },
  task: {
    not_before: null,
    avoids: [],
    pipeline_steps: null,
    timeout_seconds: null,
    rank_others: [],
    model_artifact_id: null,
    error: null,
    content_key: null,
    reused_from: null,
  },
  worker: { suspended: null, leaving: null, drained: null },
};
/** What changes in the usual course of things, and changes of what is rare. */
const NEXT: Record<string, { usual: Record<string, unknown>; rare: Record<string, unknown>[] }> = {
  job: {
    usual: { status: 'succeeded', state: null, updated_at: 7, counts: { ...jobRow.counts, queued: 9 } },
    rare: [
      { keep: null },
      { keep: 'forever' },
      { error: null },
      { error: 'other' },
      { next_seq: 3 },
      { best_model_artifact_id: null },
      { selection: { places: [] } },
      { standings: [] },
    ],
  },
  task: {
    usual: { status: 'succeeded', state: null, worker_id: null, attempt: 3, result: '{}', updated_at: 7 },
    rare: [
      { not_before: null },
      { avoids: [] },
      { avoids: ['w'] },
      { rank_others: [0.5] },
      { model_artifact_id: null },
      { error: 'other' },
      { reused_from: null },
    ],
  },
  worker: {
    usual: { state: 'idle', slots_used: 0, last_seen_at: 7 },
    rare: [{ suspended: null }, { leaving: null }, { drained: null }],
  },
};

const kinds = [
  ['job', JOBS, jobRow],
  ['task', TASKS, taskRow],
  ['worker', WORKERS, workerRow],
] as unknown as [string, Table<never>, Record<string, unknown>][];

for (const [name, table, sample] of kinds) {
  const lists = {
    fresh: (name === 'worker' ? 'registered_workers' : `plain_new_${name}s`) as keyof Changes,
    changed: `plain_changed_${name}s` as keyof Changes,
  };
  const next = NEXT[name] as (typeof NEXT)[string];

  describe(`a ${name} is written plainly where nothing rare is in it or has changed`, () => {
    const rows = [
      ['a row with nothing rare', { ...sample, ...NOTHING_RARE[name] }],
      ['a row with what is rare', sample],
    ] as const;
    for (const [driver, [title, row]] of drivers.flatMap((driver) =>
      rows.map((row) => [driver, row] as const),
    )) {
      test(
        `${title} reads back from ${driver.name} as it was given, also after a change`,
        driver.needing,
        async (t) => {
          const store = await (await driver.place(t)).open();
          const isPlain = table.isPlain(row as never, null);
          assert.equal(isPlain, row !== sample);
          const whole = (name === 'worker' ? 'registered_workers' : `new_${name}s`) as keyof Changes;
          await store.commit({ ...nothing(), [isPlain ? lists.fresh : whole]: [row] });
          assert.deepEqual(await store.load(table, 'true'), [row]);
          const changed = { ...row, ...next.usual };
          assert.ok(table.isPlain(changed as never, row as never));
          await store.commit({ ...nothing(), [lists.changed]: [changed] });
          assert.deepEqual(await store.load(table, 'true'), [changed]);
        },
      );
    }

    for (const change of next.rare) {
      test(`not with ${JSON.stringify(change)}`, () => {
        assert.equal(table.isPlain({ ...sample, ...change } as never, sample as never), false);
      });
    }

    test('what is left out of a new row may be NULL', () => {
      const omitted = table.columns.filter((column) => !table.plain.columns.includes(column));
      assert.deepEqual(
        omitted.filter((column) => !table.types[column]?.isNullable),
        [],
      );
      assert.ok(omitted.length > 0);
    });
  });
}
