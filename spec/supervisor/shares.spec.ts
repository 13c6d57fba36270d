import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { WorkerCell } from '../../actors/server/runtime/actor-cell.ts';
import { Bucket } from '../../actors/server/scheduling/bucket.ts';
import type { Lane } from '../../actors/server/scheduling/lanes.ts';
import { QueueView } from '../../actors/server/scheduling/queue-view.ts';
import { SHARES, type Share } from '../../actors/server/scheduling/rounds.ts';
import { WorkQueue } from '../../actors/server/scheduling/work-queue.ts';
import { FOR_GOOD } from '../../actors/server/turn/journal.ts';
import { workerRow } from '../support/rows.ts';
import { Undo } from './undo.ts';

interface Queued extends Lane {
  seq: number;
  priority: number;
  /** The number of its job. */
  job: number;
}

const OWNERS = ['ann', 'bob', 'eve'];
const TYPES = ['demo.run', 'other.run'];
/** Each job has one owner and one type. */
const JOBS = OWNERS.flatMap((owner) => TYPES.map((type) => ({ owner, type }))).flatMap((lane) => [
  lane,
  lane,
]);

/** The queue as the supervisor keeps it, and beside it a plain list in which each task is looked at. */
class Played {
  readonly #share: Share;
  readonly #limit: number | null;
  readonly queue: WorkQueue;
  /** Two kinds of workers that may take everything. */
  readonly #views = [new QueueView([''], () => true), new QueueView([''], () => true)];
  #list: Queued[] = [];
  readonly #running: Queued[] = [];
  readonly #turns = new Map<string | number, number>();
  #came = -1e6;
  #served = 0;
  #next = 1000;

  constructor(share: Share, limit: number | null) {
    this.#share = share;
    this.#limit = limit;
    this.queue = new WorkQueue({ share, maxRunningPerOwner: limit });
  }

  add(nth: number, priority: number, later: boolean): void {
    const job = nth % JOBS.length;
    const seq = later ? this.#next++ : 2000 - this.#next++;
    this.#add({ ...(JOBS[job] as Lane), job: job + 1, priority, seq });
  }

  take(view: number, undone: boolean): boolean {
    const expected = this.#first();
    const undo = new Undo();
    const taken = this.queue.take(undo, [this.#views[view] as QueueView]);
    assert.equal(taken?.seq, expected?.seq);
    if (!expected) return false;
    const party = this.#partyOf(expected);
    if (party !== null) this.#turns.set(party, ++this.#served);
    this.#leave(expected);
    if (undone) {
      undo.rollback();
      this.#enter(expected);
    } else this.#running.push(expected);
    return true;
  }

  remove(nth: number): void {
    const task = this.#list[nth % Math.max(1, this.#list.length)];
    if (!task) return;
    this.queue.index.remove(FOR_GOOD, this.#keyOf(task), task.priority, task.seq);
    this.#leave(task);
  }

  /** One that is under way ends, or has to be done again. */
  end(nth: number, again: boolean): void {
    const [task] = this.#running.splice(nth % Math.max(1, this.#running.length), 1);
    if (!task) return;
    this.queue.gates.ended(FOR_GOOD, task);
    if (again) this.#add(task);
  }

  pause(kind: 'all' | 'type' | 'owner', nth: number): void {
    const names = { all: [''], type: TYPES, owner: OWNERS }[kind];
    const scope = { kind, name: names[nth % names.length] as string };
    if (this.queue.gates.isPaused(scope)) this.queue.gates.resume(FOR_GOOD, scope);
    else this.queue.gates.pause(FOR_GOOD, { ...scope, by: 'root', at: 0 });
  }

  resumeAll(): void {
    for (const scope of this.queue.gates.pauses()) this.queue.gates.resume(FOR_GOOD, scope);
    while (this.#running.length > 0) this.end(0, false);
  }

  #keyOf({ owner, type, job }: Queued): number {
    const { id } = this.queue.requirements.number(FOR_GOOD, {}, { owner, type });
    return this.queue.keyOf({ requirement_id: id, timeout_seconds: null }, ofJob(job));
  }

  #add(task: Queued): void {
    this.queue.index.add(FOR_GOOD, this.#keyOf(task), task.priority, task.seq);
    this.#enter(task);
  }

  #partyOf({ owner, job }: Queued): string | number | null {
    return { fifo: null, owner, job }[this.#share];
  }

  #enter(task: Queued): void {
    this.#list.push(task);
    const party = this.#partyOf(task);
    if (party !== null && !this.#turns.has(party)) this.#turns.set(party, this.#came++);
  }

  #leave(task: Queued): void {
    this.#list = this.#list.filter((other) => other !== task);
    // Of a job nothing is remembered that has nothing queued.
    if (this.#share === 'job' && !this.#list.some(({ job }) => job === task.job))
      this.#turns.delete(task.job);
  }

  #isShut({ owner, type }: Queued): boolean {
    const running = this.#running.filter((task) => task.owner === owner).length;
    const { gates } = this.queue;
    return (
      (this.#limit !== null && running >= this.#limit) ||
      gates.isPaused({ kind: 'all', name: '' }) ||
      gates.isPaused({ kind: 'type', name: type }) ||
      gates.isPaused({ kind: 'owner', name: owner })
    );
  }

  #first(): Queued | undefined {
    const turn = (task: Queued) => this.#turns.get(this.#partyOf(task) ?? '') ?? 0;
    const open = this.#list.filter((task) => !this.#isShut(task));
    return open.sort((a, b) => b.priority - a.priority || turn(a) - turn(b) || a.seq - b.seq)[0];
  }
}

const nth = fc.nat();
const some = <T>(...values: T[]) => fc.constantFrom(...values);
const acts = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      act: some('add' as const),
      nth,
      priority: fc.integer({ min: 0, max: 1 }),
      later: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ act: some('take' as const), view: some(0, 1), undone: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ act: some('end' as const), nth, again: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ act: some('remove' as const), nth }) },
  {
    weight: 1,
    arbitrary: fc.record({
      act: some('pause' as const),
      kind: some('all' as const, 'type' as const, 'owner' as const),
      nth,
    }),
  },
);

describe('what is served next', () => {
  for (const share of SHARES) {
    for (const limit of [null, 2]) {
      const limited = limit === null ? '' : ' and so many for an owner';
      test(`by ${share}${limited} is what a look at each task finds, whatever was paused, ended or rolled back`, () => {
        const property = fc.property(fc.array(acts, { maxLength: 120, size: 'max' }), (all) => {
          const played = new Played(share, limit);
          for (const act of all) {
            if (act.act === 'add') played.add(act.nth, act.priority, act.later);
            else if (act.act === 'take') played.take(act.view, act.undone);
            else if (act.act === 'end') played.end(act.nth, act.again);
            else if (act.act === 'remove') played.remove(act.nth);
            else played.pause(act.kind, act.nth);
          }
          do played.resumeAll();
          while (played.take(0, false));
          assert.equal(played.queue.index.size, 0);
        });
        fc.assert(property, { seed: 20261129, numRuns: 150 });
      });
    }
  }
});

const ofJob = (seq: number) => ({ seq, num_tasks: 1, selection: null });

/** Looks at what is queued while tasks end and others are taken, with so many jobs that wait. */
function looksAt(share: Share, jobs: number, act: (queue: WorkQueue, take: () => void) => void): number {
  let looks = 0;
  const head = Object.getOwnPropertyDescriptor(Bucket.prototype, 'head') as PropertyDescriptor;
  const queue = new WorkQueue({ share, maxRunningPerOwner: 1 });
  // Requirements are as many as jobs, so that each job has a queue of its own however slots are shared.
  for (let job = 1; job <= jobs; job++) {
    const { id } = queue.requirements.number(
      FOR_GOOD,
      { min_memory_gb: job },
      { owner: 'ann', type: 'demo.run' },
    );
    queue.index.add(FOR_GOOD, queue.keyOf({ requirement_id: id, timeout_seconds: null }, ofJob(job)), 0, job);
  }
  const worker = new WorkerCell(workerRow('worker_0', { capabilities: { memory_gb: jobs } }), true);
  const take = () => assert.ok(queue.take(FOR_GOOD, queue.profiles.viewsOf(worker)));
  take();
  looks = 0;
  try {
    Object.defineProperty(Bucket.prototype, 'head', {
      get() {
        looks++;
        return head.get?.call(this);
      },
    });
    act(queue, take);
  } finally {
    Object.defineProperty(Bucket.prototype, 'head', head);
  }
  return looks;
}

describe('the cost', () => {
  const lane = { owner: 'ann', type: 'demo.run' };
  for (const share of SHARES) {
    test(`by ${share} of an end that lets another of the owner's tasks go does not grow with the jobs that wait`, () => {
      const costOf = (jobs: number) =>
        looksAt(share, jobs, ({ gates }, take) => {
          for (let i = 0; i < 20; i++) {
            gates.ended(FOR_GOOD, lane);
            take();
          }
        });
      const [few, many] = [costOf(50), costOf(5000)];
      assert.ok(many <= 2 * few, `${many} looks at 5000 jobs, ${few} at 50`);
    });

    test(`by ${share} of a pause and its end does not grow with the jobs that wait`, () => {
      const costOf = (jobs: number) =>
        looksAt(share, jobs, ({ gates, index }, take) => {
          gates.ended(FOR_GOOD, lane);
          gates.pause(FOR_GOOD, { kind: 'type', name: 'demo.run', by: 'root', at: 0 });
          assert.ok(index.size > 0);
          gates.resume(FOR_GOOD, { kind: 'type', name: 'demo.run' });
          take();
        });
      const [few, many] = [costOf(50), costOf(5000)];
      assert.ok(many <= 2 * few, `${many} looks at 5000 jobs, ${few} at 50`);
    });
  }
});
