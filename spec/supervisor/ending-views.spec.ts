import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { WorkerCell } from '../../actors/server/runtime/actor-cell.ts';
import { Bucket } from '../../actors/server/scheduling/bucket.ts';
import { classSeconds, TIME_CLASSES, timeClass } from '../../actors/server/scheduling/time-class.ts';
import { WorkQueue } from '../../actors/server/scheduling/work-queue.ts';
import { FOR_GOOD } from '../../actors/server/turn/journal.ts';
import { SimulatedClock } from '../support/clock.ts';
import { workerRow } from '../support/rows.ts';
import { Undo } from './undo.ts';

interface Queued {
  seq: number;
  priority: number;
  /** 0: a task of no job that has others. */
  job: number;
  limit: number | null;
}

const JOBS = 4;

/** The queue as the supervisor keeps it, and beside it a plain list in which the time of each task is looked at. */
class Played {
  readonly #clock = new SimulatedClock();
  readonly #queue = new WorkQueue({}, this.#clock);
  readonly #times = new Map<number, number>();
  readonly #requirement = this.#queue.requirements.number(FOR_GOOD, {}).id;
  readonly #ends: number[];
  readonly #workers: WorkerCell[];
  #list: Queued[] = [];
  #next = 1000;

  constructor(seconds: readonly number[]) {
    this.#ends = seconds.map((left) => this.#clock.now() + left);
    this.#workers = this.#ends.map((ends_at, i) => {
      const row = workerRow(`worker_${i}`, { capabilities: ends_at < Infinity ? { ends_at } : {} });
      return new WorkerCell(row, true);
    });
  }

  add(task: Omit<Queued, 'seq'>, later: boolean): void {
    this.#put({ ...task, seq: later ? this.#next++ : 2000 - this.#next++ });
  }

  time(job: number, seconds: number, undone: boolean): void {
    const undo = new Undo();
    this.#queue.times.set(undo, job, seconds);
    if (undone) undo.rollback();
    else this.#times.set(job, seconds);
  }

  take(worker: number, undone: boolean): void {
    const expected = this.#firstFor(worker);
    const undo = new Undo();
    const taken = this.#queue.take(undo, this.#queue.profiles.viewsOf(this.#workers[worker] as WorkerCell));
    assert.equal(taken?.seq, expected?.seq);
    if (undone) undo.rollback();
    else this.#list = this.#list.filter((task) => task !== expected);
  }

  pass(seconds: number): Promise<void> {
    return this.#clock.advance(seconds);
  }

  #put(task: Queued): void {
    const { seq, priority, job, limit } = task;
    const key = this.#queue.keyOf(
      { requirement_id: this.#requirement, timeout_seconds: limit },
      { seq: job, num_tasks: job === 0 ? 1 : 5, selection: null },
    );
    this.#queue.index.add(FOR_GOOD, key, priority, seq);
    this.#list.push(task);
  }

  #firstFor(worker: number): Queued | undefined {
    const left = (this.#ends[worker] as number) - this.#clock.now();
    return this.#list
      .filter(({ job, limit }) => left > 0 && (limit ?? this.#times.get(job) ?? 0) <= left)
      .sort((a, b) => b.priority - a.priority || a.seq - b.seq)[0];
  }
}

const job = fc.integer({ min: 1, max: JOBS });
const seconds = fc.constantFrom(1, 5, 20, 50, 90);
const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('add' as const),
      task: fc.record({
        priority: fc.nat({ max: 1 }),
        job: fc.integer({ min: 0, max: JOBS }),
        limit: fc.option(seconds, { freq: 3 }),
      }),
      later: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ act: fc.constant('time' as const), job, seconds, undone: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('take' as const),
      worker: fc.nat({ max: 2 }),
      undone: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant('pass' as const), seconds: fc.constantFrom(0.5, 7, 30) }),
  },
);

describe('what a worker with an end sees of the queue', () => {
  test('is what a plain list has for it, whatever is added, timed, taken and undone, as time passes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
        const played = new Played([30, 100, Infinity]);
        for (const one of acts) {
          if (one.act === 'add') played.add(one.task, one.later);
          else if (one.act === 'time') played.time(one.job, one.seconds, one.undone);
          else if (one.act === 'take') played.take(one.worker, one.undone);
          else await played.pass(one.seconds);
        }
        for (let left = 0; left < 5; left++) played.take(left % 3, false);
      }),
      { numRuns: 300 },
    );
  });

  test('costs a look at each job that takes too long, once, and after that none, however many tasks there are', () => {
    const clock = new SimulatedClock();
    const queue = new WorkQueue({}, clock);
    const { id: requirement_id } = queue.requirements.number(FOR_GOOD, {});
    const [jobs, tasks] = [1_000, 100];
    for (let seq = 1; seq <= jobs; seq++) {
      queue.times.set(FOR_GOOD, seq, seq < jobs ? 3600 : 10);
      const key = queue.keyOf(
        { requirement_id, timeout_seconds: null },
        { seq, num_tasks: tasks, selection: null },
      );
      for (let task = 0; task < tasks; task++) queue.index.add(FOR_GOOD, key, 0, seq * tasks + task);
    }
    const worker = new WorkerCell(
      workerRow('worker_0', { capabilities: { ends_at: clock.now() + 600 } }),
      true,
    );
    const looks = () =>
      looksIn(() => {
        const taken = queue.take(FOR_GOOD, queue.profiles.viewsOf(worker));
        assert.ok((taken?.seq ?? 0) >= jobs * tasks);
      });
    const first = looks();
    assert.ok(first < 20 * jobs, `${first} looks at first`);
    for (let i = 0; i < 5; i++) {
      const later = looks();
      assert.ok(later < 30, `${later} looks`);
    }
  });
});

/** How often the head of a bucket is looked at. */
function looksIn(act: () => void): number {
  const head = Object.getOwnPropertyDescriptor(Bucket.prototype, 'head') as PropertyDescriptor;
  let looks = 0;
  try {
    Object.defineProperty(Bucket.prototype, 'head', {
      get() {
        looks++;
        return head.get?.call(this);
      },
      configurable: true,
    });
    act();
  } finally {
    Object.defineProperty(Bucket.prototype, 'head', head);
  }
  return looks;
}

describe('the class of a time', () => {
  test('is never shorter than the time, longer by a hundredth at most, and one of few classes', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 9e8, noNaN: true }), (time) => {
        const of = timeClass(time);
        assert.ok(of > 0 && of < TIME_CLASSES);
        const longest = classSeconds(of);
        assert.ok(longest >= time && longest <= Math.max(time + 1, time * 1.0101), `${time}: ${longest}`);
        assert.equal(timeClass(longest), of);
      }),
    );
    for (const time of [1, 60, 600, 999, 1000, 3600, 86_400, 600_000]) {
      assert.equal(classSeconds(timeClass(time)), time);
    }
  });
});
