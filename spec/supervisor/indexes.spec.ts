import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Core } from '../../actors/server/core.ts';
import { cutJobPieces, type JobPieces, JobPiecesCache } from '../../actors/server/jobs/job-pieces.ts';
import { TaskCell } from '../../actors/server/runtime/actor-cell.ts';
import { followDeadlines } from '../../actors/server/runtime/arm-deadlines.ts';
import { Deadlines } from '../../actors/server/runtime/deadlines.ts';
import { QueueIndex } from '../../actors/server/scheduling/queue-index.ts';
import { QueueView } from '../../actors/server/scheduling/queue-view.ts';
import type { TaskRow } from '../../actors/server/store/rows.ts';
import { FOR_GOOD } from '../../actors/server/turn/journal.ts';
import { inSteps } from '../../actors/server/turn/steps.ts';
import { StepClock } from '../support/step-clock.ts';

const NO_TURN = { ...FOR_GOOD, now: 0, rowChanged() {}, stateChanged() {} };
/** More than an index may hold of tasks that have left it. */
const MANY = 20_000;

/** Every task that passes, in the order in which the index serves them. */
function served(index: QueueIndex, passes: (requirement: number) => boolean = () => true): number[] {
  const views = [new QueueView([''], passes)];
  const seqs: number[] = [];
  for (let next = index.take(FOR_GOOD, views); next; next = index.take(FOR_GOOD, views)) seqs.push(next.seq);
  return seqs;
}

describe('the index of the queue', () => {
  test('serves larger priorities first, then the order of arrival, whatever tasks were added, removed and added again', () => {
    const places = fc.uniqueArray(
      fc.record({
        seq: fc.integer({ min: 1, max: 5000 }),
        requirement: fc.integer({ min: 1, max: 3 }),
        priority: fc.integer({ min: -1, max: 1 }),
        fate: fc.constantFrom('stays', 'is cancelled', 'comes back'),
      }),
      { selector: ({ seq }) => seq, maxLength: 60 },
    );
    const property = fc.property(places, fc.integer({ min: 1, max: 3 }), (all, wanted) => {
      const index = new QueueIndex(() => ({ terms: [] }));
      for (const { seq, requirement, priority } of all) index.add(FOR_GOOD, requirement, priority, seq);
      for (const { seq, requirement, priority, fate } of all) {
        if (fate !== 'stays') index.remove(FOR_GOOD, requirement, priority, seq);
        if (fate === 'comes back') index.add(FOR_GOOD, requirement, priority, seq);
      }
      const left = all.filter(({ fate }) => fate !== 'is cancelled');
      left.sort((a, b) => b.priority - a.priority || a.seq - b.seq);
      assert.equal(index.size, left.length);
      const matching = left.filter(({ requirement }) => requirement === wanted);
      assert.deepEqual(
        served(index, (requirement) => requirement === wanted),
        matching.map(({ seq }) => seq),
      );
      assert.equal(index.size, left.length - matching.length);
      served(index);
      assert.deepEqual([index.size, index.held], [0, 0]);
    });
    fc.assert(property, { seed: 20261128, numRuns: 500 });
  });

  test('serves no withheld task, and each in its place once it is released, also when the release is undone', () => {
    const act = fc.record({
      does: fc.constantFrom('add', 'remove', 'withhold', 'release', 'take', 'take'),
      seq: fc.integer({ min: 0, max: 29 }),
      isUndone: fc.boolean(),
    });
    const property = fc.property(fc.array(act, { maxLength: 80 }), (acts) => {
      const index = new QueueIndex(() => ({ terms: [] }));
      const views = [new QueueView([''], () => true)];
      // Ten numbers are a span, three of which stand beside each other.
      const spans = [0, 1, 2].map((n) => ({ from: n * 10, to: n * 10 + 9 }));
      let queued = new Set<number>();
      let withheld = new Set<number>();
      for (const { does, seq, isUndone } of acts) {
        const undo: (() => void)[] = [];
        const journal = { onRollback: (step: () => void) => void undo.push(step) };
        const before = { queued: new Set(queued), withheld: new Set(withheld) };
        const span = Math.floor(seq / 10);
        const [requirement, priority] = [1 + (seq % 2), seq % 3];
        if (does === 'add' && !queued.has(seq)) {
          index.add(journal, requirement, priority, seq);
          queued.add(seq);
        } else if (does === 'remove' && queued.has(seq)) {
          index.remove(journal, requirement, priority, seq);
          queued.delete(seq);
        } else if (does === 'withhold' && !withheld.has(span)) {
          index.withhold(journal, spans[span] as (typeof spans)[0]);
          withheld.add(span);
        } else if (does === 'release' && withheld.delete(span)) {
          index.release(journal, spans[span] as (typeof spans)[0]);
        } else if (does === 'take') {
          const open = [...queued].filter((one) => !withheld.has(Math.floor(one / 10)));
          const [next] = open.sort((a, b) => (b % 3) - (a % 3) || a - b);
          assert.equal(index.take(journal, views)?.seq, next);
          if (next !== undefined) queued.delete(next);
        }
        if (isUndone) {
          for (const step of undo.reverse()) step();
          ({ queued, withheld } = before);
        }
        assert.equal(index.size, queued.size);
      }
      for (const span of withheld) index.release(FOR_GOOD, spans[span] as (typeof spans)[0]);
      const left = [...queued].sort((a, b) => (b % 3) - (a % 3) || a - b);
      assert.deepEqual(served(index), left);
      assert.deepEqual([index.size, index.held], [0, 0]);
    });
    fc.assert(property, { seed: 20261128, numRuns: 1000 });
  });

  test('removing a task twice is the same as removing it once', () => {
    const index = new QueueIndex(() => ({ terms: [] }));
    for (const seq of [1, 2, 3]) index.add(FOR_GOOD, 1, 0, seq);
    for (let i = 0; i < 2; i++) index.remove(FOR_GOOD, 1, 0, 2);
    index.remove(FOR_GOOD, 9, 9, 1);
    assert.deepEqual([index.size, served(index)], [2, [1, 3]]);
  });

  test('tasks removed from its middle take no memory, even if nobody ever asks for those before them', () => {
    const index = new QueueIndex(() => ({ terms: [] }));
    for (let seq = 1; seq <= MANY; seq++) index.add(FOR_GOOD, 1, 0, seq);
    for (let seq = 1; seq <= MANY; seq++) if (seq % 2000 > 0) index.remove(FOR_GOOD, 1, 0, seq);
    assert.equal(index.size, MANY / 2000);
    assert.ok(index.held < 3000, `${index.held} numbers are held for ${index.size} tasks`);
    assert.deepEqual(
      served(index),
      Array.from({ length: MANY / 2000 }, (_, i) => (i + 1) * 2000),
    );
  });

  test('a bucket without tasks is removed', () => {
    const index = new QueueIndex(() => ({ terms: [] }));
    for (let seq = 1; seq <= 10; seq++) index.add(FOR_GOOD, 1, 0, seq);
    for (let seq = 1; seq <= 10; seq++) index.remove(FOR_GOOD, 1, 0, seq);
    assert.deepEqual([index.held, served(index)], [0, []]);
  });
});

describe('a specification that is cut into the pieces of its tasks', () => {
  const MIB = 2 ** 20;
  const numbers = `[${'1.5,'.repeat(2 * MIB)}1]`;
  const LARGE: Record<string, string> = {
    'in its parameters': `"params":{"list":${numbers}}`,
    'in its native payload': `"native_payload":{"list":${numbers}}`,
    'in a member that nobody knows': `"outputs":{"list":${numbers}}`,
    'in its pipeline': `"pipeline":{"kind":"inline_json","inline":${numbers}}`,
    'by the number of its pipelines': `"pipelines":[${'{"kind":"inline_json","inline":0},'.repeat(MIB / 4)}1]`,
    'in the parameters of a job that selects': `"select":{},"params":{"list":${numbers}}`,
  };
  for (const [where, members] of Object.entries(LARGE)) {
    test(`is cut in steps when it is large ${where}, each piece as it is written`, () => {
      const text = `{${members},"dataset":{"kind":"shared_path","path":"/d"}}`;
      const cutting = cutJobPieces(text);
      let steps = 1;
      let step = cutting.next();
      for (; !step.done; step = cutting.next()) steps++;
      assert.ok(steps > text.length / MIB, `${steps} steps for ${text.length} characters`);
      const pieces = step.value;
      assert.deepEqual(pieces.datasets, ['{"kind":"shared_path","path":"/d"}']);
      const all = [pieces.params, pieces.exploring, pieces.native, ...pieces.pipelines];
      const isThere = all.some((piece) => piece.includes(numbers)) || pieces.pipelines.length > MIB / 4;
      assert.ok(isThere || where === 'in a member that nobody knows');
      assert.deepEqual(JSON.parse(pieces.outputs), { export_best_model: true, keep_task_workspace: false });
    });
  }
});

describe('the cache of specifications', () => {
  const document = (pipelines: number) =>
    inSteps(
      cutJobPieces(
        JSON.stringify({
          type: 'demo.run',
          pipelines: Array.from({ length: pipelines }, (_, i) => ({ kind: 'inline_json', inline: i })),
          dataset: { kind: 'shared_path', path: '/d' },
        }),
      ),
    ) as JobPieces;

  test('is for jobs of which more tasks will be leased', () => {
    const cache = new JobPiecesCache();
    cache.keep('one', document(1));
    cache.keep('two', document(2));
    assert.deepEqual([cache.get('one'), cache.get('two')], [undefined, document(2)]);
  });

  test('counts the memory of small specifications beyond their text too, for there may be many', () => {
    const cache = new JobPiecesCache();
    const small = document(2);
    for (let i = 0; i < MANY * 2; i++) cache.keep(`job_${i}`, small);
    assert.ok(cache.size <= 32 * 1024, `${cache.size} specifications are kept, each of a kilobyte and more`);
  });
});

describe('deadlines', () => {
  const start = () => {
    const clock = new StepClock();
    const due: string[] = [];
    const deadlines = new Deadlines<string>(clock, (key) => due.push(key));
    const until = (seconds: number) => {
      const end = clock.monotonic() + seconds;
      while (clock.nextAt <= end) clock.moveTo(clock.nextAt);
      clock.moveTo(end);
    };
    const follow = (cells: TaskCell[]) =>
      followDeadlines({ deadlines, waits: deadlines, hearing: clock, clock } as unknown as Core, cells);
    return { deadlines, due, until, follow, now: () => clock.monotonic() };
  };

  test('take no memory once they are withdrawn, however far off they were', () => {
    const { deadlines, due, until, now } = start();
    for (let i = 0; i < MANY; i++) {
      deadlines.set(`lease:${i}`, now() + 86_400);
      if (i % 2000 > 0) deadlines.delete(`lease:${i}`);
    }
    assert.ok(deadlines.held < 3000, `${deadlines.held} entries are held for ${MANY / 2000} deadlines`);
    until(86_400);
    assert.deepEqual(due.sort(), Array.from({ length: MANY / 2000 }, (_, i) => `lease:${i * 2000}`).sort());
  });

  test('that a turn sets are taken back by the turn that ends them', () => {
    const { due, until, follow } = start();
    const ended = new TaskCell({ id: 'ended' } as TaskRow, true);
    const held = new TaskCell({ id: 'held' } as TaskRow, true);
    const turns = [
      { leaseEndsAt: 10, timesOutAt: 10 },
      { leaseEndsAt: null, timesOutAt: null },
    ];
    for (const change of turns) {
      ended.update(NO_TURN, change);
      held.update(NO_TURN, { leaseEndsAt: 10 });
      follow([ended, held]);
      for (const cell of [ended, held]) cell.accept();
    }
    until(20);
    assert.deepEqual(due, ['lease:held']);
  });

  test('that are moved to a later time come due then, also when others were withdrawn meanwhile', () => {
    const { deadlines, due, until, now } = start();
    deadlines.set('first', now() + 10);
    deadlines.set('second', now() + 20);
    deadlines.set('first', now() + 30);
    for (let i = 0; i < MANY; i++) {
      deadlines.set(`lease:${i}`, now() + 15);
      deadlines.delete(`lease:${i}`);
    }
    until(25);
    assert.deepEqual(due, ['second']);
    until(5);
    assert.deepEqual(due, ['second', 'first']);
    assert.equal(deadlines.held, 0);
  });
});
