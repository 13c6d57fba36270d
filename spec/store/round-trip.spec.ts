import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type AnyStateMachine, createActor, type StateNode } from 'xstate';
import { JOB, type RowMapping, TASK, WORKER } from '../../actors/server/runtime/row-mapping.ts';
import type { Changes } from '../../actors/server/store/changes.ts';
import type { Table } from '../../actors/server/store/columns.ts';
import type { JobRow, TaskRow } from '../../actors/server/store/rows.ts';
import { JOBS, TASKS, WORKERS } from '../../actors/server/store/tables.ts';
import { noStanding, rankedBy } from '../../machines/ranking/standing.ts';
import { ODD_DOUBLES } from '../support/doubles.ts';
import { drivers } from './drivers.ts';
import { jobRow, nothing, taskRow, workerRow } from './row-support.ts';

/** Every state an actor can rest in: atomic, final, or the compound ones' children. */
function restingStates(machine: AnyStateMachine): { status: string; state: string | null }[] {
  const found: { status: string; state: string | null }[] = [];
  for (const top of Object.values(machine.root.states) as StateNode[]) {
    const nested = Object.keys(top.states);
    if (nested.length === 0) found.push({ status: top.key, state: null });
    for (const state of nested) found.push({ status: top.key, state });
  }
  return found;
}

/** What may change of each, at other values than those of the samples. */
const CHANGING: Record<string, Record<string, unknown>> = {
  job: {
    state: null,
    updated_at: 1,
    error: null,
    counts: { queued: 0, leased: 0, running: 0, lost: 0, succeeded: 0, failed: 0, cancelled: 0 },
    best_metric: null,
    best_task_id: null,
    best_model_artifact_id: null,
    rank_metric: 'cv_rmse',
    rank_mode: 'min',
    standings: [noStanding({ metric: 'cv_rmse', mode: 'min' })],
  },
  task: {
    state: null,
    attempt: 0,
    max_attempts: 9,
    not_before: null,
    worker_faults: 0,
    take_backs: 0,
    avoids: [],
    worker_id: null,
    lease_expires_at: null,
    updated_at: 1,
    started_at: null,
    result: null,
    rank_value: null,
    rank_others: [],
    model_artifact_id: null,
    error: null,
    last_report: null,
  },
  worker: { state: null, last_seen_at: 1, slots_used: 0, suspended: null, leaving: null, drained: null },
  'worker that registers again': {
    name: null,
    state: null,
    last_seen_at: 1,
    labels: {},
    capabilities: {},
    version: {},
    slots_total: 99,
    slots_used: 0,
    suspended: null,
    leaving: null,
    drained: null,
  },
};

const kinds: [
  string,
  RowMapping<never, AnyStateMachine>,
  Table<never>,
  Record<string, unknown>,
  { fresh: keyof Changes; changed: keyof Changes },
][] = [
  ['job', JOB, JOBS, jobRow, { fresh: 'new_jobs', changed: 'changed_jobs' }],
  ['task', TASK, TASKS, taskRow, { fresh: 'new_tasks', changed: 'changed_tasks' }],
  ['worker', WORKER, WORKERS, workerRow, { fresh: 'registered_workers', changed: 'changed_workers' }],
  [
    'worker that registers again',
    WORKER,
    WORKERS,
    workerRow,
    { fresh: 'registered_workers', changed: 'registered_workers' },
  ],
] as never;

for (const [driver, [name, kind, table, sample, lists]] of drivers.flatMap((driver) =>
  kinds.map((kind) => [driver, kind] as const),
)) {
  describe(
    `the snapshot of a ${name} survives its way through a row of ${driver.name}`,
    driver.needing,
    () => {
      for (const resting of restingStates(kind.stage.machine)) {
        const row = {
          ...sample,
          status: resting.status,
          ...('state' in sample ? { state: resting.state } : {}),
        };
        const title = resting.state ? `${resting.status}.${resting.state}` : resting.status;

        test(`in state ${title}`, async (t) => {
          const store = await (await driver.place(t)).open();
          await store.commit({ ...nothing(), [lists.fresh]: [row] });
          const [stored] = await store.load(table, 'id = ?', sample.id);
          for (const [key, value] of Object.entries(row))
            assert.deepEqual(stored?.[key as never], value, key);

          // And when the row was there before, in another state and with nothing in what may change.
          const bare = { ...row, ...CHANGING[name], status: 'other' };
          await store.commit({ ...nothing(), [lists.changed]: [bare] });
          assert.notDeepEqual(
            await store.load(table, 'id = ?', sample.id),
            [stored],
            'the change was not written',
          );
          await store.commit({ ...nothing(), [lists.changed]: [row] });
          assert.deepEqual(await store.load(table, 'id = ?', sample.id), [stored]);

          // An actor restored from the stored row is in that state, and says the same of itself.
          const actor = createActor(kind.stage.machine, { snapshot: kind.restore(stored as never) as never });
          const snapshot = actor.getSnapshot();
          assert.deepEqual(
            kind.fold(stored as never, snapshot as never, (stored as unknown as TaskRow).updated_at),
            stored,
          );
          const persisted = actor.getPersistedSnapshot() as unknown as { value: unknown; context: unknown };
          const again = createActor(kind.stage.machine, { snapshot: persisted as never }).getSnapshot();
          assert.deepEqual([again.value, again.context], [snapshot.value, snapshot.context]);
        });
      }
    },
  );
}

for (const driver of drivers) {
  test(
    `every double and every text comes back from ${driver.name} as the same`,
    driver.needing,
    async (t) => {
      const store = await (await driver.place(t)).open();
      const drawn = fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true }), {
        numRuns: 3000,
        seed: 5,
      });
      const texts = ['', '\u0000 "\\\n\u2028', '{"a": [1.0]}', 'null', '1e3', '\u{1F600}'];
      const jobs = [...ODD_DOUBLES, ...drawn].map((best_metric, seq) => {
        const standings = [{ ...noStanding({ metric: 'best_rmse', mode: 'min' }), best_metric, reported: 1 }];
        const own = { id: `job_${seq}`, seq, created_at: seq + 0.000001, idempotency_key: null };
        return {
          ...jobRow,
          standings,
          ...rankedBy(standings),
          error: texts[seq % texts.length] as string,
          ...own,
        };
      });
      await store.commit({ ...nothing(), new_jobs: jobs });
      const stored = await store.load(JOBS, 'true ORDER BY seq');
      for (const [seq, { best_metric, created_at, error }] of stored.entries()) {
        const written = jobs[seq] as JobRow;
        // A zero has no sign in JSON, and in SQLite, which keeps whole numbers as such.
        assert.equal(best_metric, (written.best_metric as number) + 0);
        assert.deepEqual([created_at, error], [written.created_at, written.error]);
      }
      assert.equal(stored.length, jobs.length);
    },
  );

  test(
    `a job that ranks by one metric stores its standing in ${driver.name} only where its other columns do not give it`,
    driver.needing,
    async (t) => {
      const store = await (await driver.place(t)).open();
      const one = noStanding({ metric: 'best_rmse', mode: 'min' });
      const best = { best_metric: 0.25, best_task_id: 'task_9', best_model_artifact_id: null };
      const counts = { ...jobRow.counts, succeeded: 3 };
      const jobs = [
        { standings: [one], counts },
        { standings: [{ ...one, ...best, reported: 3 }], counts },
        // One of its tasks succeeded without a value.
        { standings: [{ ...one, ...best, reported: 2 }], counts },
        { standings: [one, noStanding({ metric: 'cv_rmse', mode: 'min' })], counts },
      ].map((change, seq) => {
        const own = { id: `job_${seq}`, seq, created_at: seq, idempotency_key: null };
        return { ...jobRow, ...change, ...rankedBy(change.standings), ...own };
      });
      await store.commit({ ...nothing(), new_jobs: jobs });
      const stored = await store.load(JOBS, 'true ORDER BY seq');
      assert.deepEqual(
        stored.map(({ standings }) => standings),
        jobs.map(({ standings }) => standings),
      );
      const told = await store.reader.all<{ own: number }[]>('SELECT standings IS NOT NULL AS own FROM jobs');
      assert.deepEqual(
        told.map(({ own }) => own),
        [0, 0, 1, 1],
      );
    },
  );
}
