import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { WorkerCell } from '../../actors/server/runtime/actor-cell.ts';
import { Exclusions, registrationOf } from '../../actors/server/scheduling/exclusions.ts';
import { NOTHING_MISSING } from '../../actors/server/scheduling/missing-paths.ts';
import { Profiles } from '../../actors/server/scheduling/profiles.ts';
import { QueueIndex } from '../../actors/server/scheduling/queue-index.ts';
import { QueueView } from '../../actors/server/scheduling/queue-view.ts';
import { RequirementBook } from '../../actors/server/scheduling/requirements.ts';
import { FOR_GOOD, type Journal } from '../../actors/server/turn/journal.ts';
import { unmet, type WorkerProfile } from '../../machines/matching/matching.ts';
import type { Requirements } from '../../machines/schema/job.ts';
import { AT_ONCE, lack, workerRow } from '../support/rows.ts';
import { Undo } from './undo.ts';

interface Queued {
  seq: number;
  priority: number;
  requirements: Requirements;
  avoids: string[];
  paths: string[];
}

const some = <T>(...values: T[]) => fc.constantFrom(...values);

const requirements: fc.Arbitrary<Requirements> = fc.record(
  {
    labels: fc.dictionary(some('site', 'rack'), some('a', 'b'), { maxKeys: 2 }),
    packages: fc.dictionary(
      some('demo', 'Num_Py', 'python'),
      some('', '>=1', '>=2', '<2', '==1.5', '==1.*', '~=1.4', '!=1.5', '>1,<=2', '===1.5', '===odd'),
      { maxKeys: 2 },
    ),
    min_memory_gb: some(1, 8, 64),
    min_gpu_count: some(0, 1),
    capabilities: some<Record<string, boolean>>({}, { catalog: true }),
  },
  { requiredKeys: [] },
);

const profiles: fc.Arbitrary<WorkerProfile> = fc.record({
  labels: fc.dictionary(some('site', 'rack', 'host'), some('a', 'b'), { maxKeys: 3 }),
  capabilities: some<Record<string, unknown>>(
    {},
    { memory_gb: 8 },
    { memory_gb: 64, gpu_count: 2 },
    { catalog: false },
  ),
  version: some<WorkerProfile['version']>(
    {},
    { packages: { demo: '1.5' } },
    { packages: { demo: '2.0', 'num-py': '1.0' } },
    { python: '3.11.2', packages: { DEMO: '1.5', num_py: '2.1' } },
    { packages: { demo: 'odd', 'num-py': '1.5+local', Num_Py: '2' } },
  ),
});

const WORKERS = 3;
const worker = fc.integer({ min: 0, max: WORKERS - 1 });
const acts = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      act: some('add' as const),
      nth: fc.nat(),
      priority: fc.integer({ min: 0, max: 1 }),
      avoids: fc.uniqueArray(worker, { maxLength: 1 }),
      paths: fc.uniqueArray(some('/x', '/y'), { maxLength: 1 }),
      later: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ act: some('take' as const), worker, undone: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ act: some('remove' as const), nth: fc.nat(), undone: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ act: some('back' as const), nth: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ act: some('register' as const), worker, profile: profiles }) },
  { weight: 1, arbitrary: fc.record({ act: some('lack' as const), worker, path: some('/x', '/y') }) },
  { weight: 1, arbitrary: fc.record({ act: some('forget' as const), worker }) },
);

/** The queue as the supervisor keeps it, and beside it a plain list in which each task is tried. */
class Played {
  readonly #book = new RequirementBook();
  readonly #exclusions = new Exclusions();
  readonly #profiles = new Profiles(this.#book, this.#exclusions);
  readonly #index = new QueueIndex((key) => this.#profiles.filingOf(key));
  readonly #workers: WorkerCell[];
  #list: Queued[] = [];
  readonly #left: Queued[] = [];
  #next = 1000;

  constructor(declared: readonly WorkerProfile[]) {
    this.#workers = declared.map((profile, i) => new WorkerCell(workerRow(`worker_${i}`, profile), true));
  }

  get size(): [number, number] {
    return [this.#index.size, this.#list.length];
  }

  add(task: Omit<Queued, 'seq' | 'avoids'> & { avoids: number[] }, later: boolean): void {
    // Some have an older number, as those that come back.
    const seq = later ? this.#next++ : 2000 - this.#next++;
    const avoids = task.avoids.map((i) => registrationOf(this.#worker(i).row));
    this.#add(FOR_GOOD, { ...task, seq, avoids });
  }

  /** Whether there was a task for the worker. */
  take(i: number, undone: boolean): boolean {
    const expected = this.#firstFor(this.#worker(i));
    const undo = new Undo();
    const taken = this.#index.take(undo, this.#profiles.viewsOf(this.#worker(i)));
    assert.equal(taken?.seq, expected?.seq);
    if (!taken || !expected) return false;
    this.#exclusions.leave(undo, taken.seq);
    if (undone) undo.rollback();
    else this.#forget(expected);
    return true;
  }

  remove(nth: number, undone: boolean): void {
    const task = this.#list[nth % Math.max(1, this.#list.length)];
    if (!task) return;
    const undo = new Undo();
    this.#index.remove(undo, this.#keyOf(task), task.priority, task.seq);
    this.#exclusions.leave(undo, task.seq);
    if (undone) undo.rollback();
    else this.#forget(task);
  }

  back(nth: number): void {
    const task = this.#left[nth % Math.max(1, this.#left.length)];
    if (!task) return;
    this.#left.splice(this.#left.indexOf(task), 1);
    this.#add(FOR_GOOD, task);
  }

  register(i: number, profile: WorkerProfile): void {
    const worker = this.#worker(i);
    worker.amend(AT_ONCE, { ...profile, version: { ...profile.version }, session: worker.row.session + 1 });
  }

  lack(i: number, path: string): void {
    lack(this.#worker(i), path);
  }

  forget(i: number): void {
    this.#worker(i).update(AT_ONCE, { missingPaths: NOTHING_MISSING });
  }

  #worker(i: number): WorkerCell {
    return this.#workers[i] as WorkerCell;
  }

  #keyOf(task: Queued): number {
    return this.#exclusions.of(task.seq)?.id ?? this.#book.number(FOR_GOOD, task.requirements).id;
  }

  #add(journal: Journal, task: Queued): void {
    const requirement = this.#book.number(journal, task.requirements).id;
    const key = this.#exclusions.enter(journal, task.seq, { ...task, requirement });
    this.#index.add(journal, key, task.priority, task.seq);
    this.#list.push(task);
  }

  #forget(task: Queued): void {
    this.#list = this.#list.filter((other) => other !== task);
    this.#left.push(task);
  }

  #firstFor(worker: WorkerCell): Queued | undefined {
    const eligible = this.#list.filter(
      ({ requirements, avoids, paths }) =>
        unmet(requirements, worker.row).length === 0 &&
        !avoids.includes(registrationOf(worker.row)) &&
        !paths.some((path) => worker.missingPaths.has(path)),
    );
    return eligible.sort((a, b) => b.priority - a.priority || a.seq - b.seq)[0];
  }
}

describe('what the index finds for a worker', () => {
  test('is what trying each task in turn would find, whatever tasks were added, removed, added again or rolled back', () => {
    const declared = fc.array(profiles, { minLength: WORKERS, maxLength: WORKERS });
    const asked = fc.array(requirements, { minLength: 1, maxLength: 4 });
    const property = fc.property(
      declared,
      asked,
      fc.array(acts, { maxLength: 80, size: 'max' }),
      (workers, pool, all) => {
        const played = new Played(workers);
        for (const act of all) {
          if (act.act === 'add') {
            // Few different ones, so that many tasks ask the same.
            const asked = pool[act.nth % pool.length] as Requirements;
            played.add({ ...act, requirements: asked }, act.later);
          } else if (act.act === 'take') played.take(act.worker, act.undone);
          else if (act.act === 'remove') played.remove(act.nth, act.undone);
          else if (act.act === 'back') played.back(act.nth);
          else if (act.act === 'register') played.register(act.worker, act.profile);
          else if (act.act === 'lack') played.lack(act.worker, act.path);
          else played.forget(act.worker);
          assert.equal(...played.size);
        }
        for (let i = 0; i < WORKERS; i++) while (played.take(i, false));
      },
    );
    fc.assert(property, { seed: 20261128, numRuns: 150 });
  });
});

const MANY = 5000;

/** An index in which each key is filed under a term of its own, beside one that all have. */
function filed(): QueueIndex {
  const index = new QueueIndex((key) => ({ terms: ['packages.demo', `label ${key}`] }));
  for (let key = 1; key <= MANY; key++) index.add(FOR_GOOD, key, 0, key);
  return index;
}

/** Counts how often it is asked what a requirement is. */
class Looked extends RequirementBook {
  looks = 0;
  override asked(id: number) {
    this.looks++;
    return super.asked(id);
  }
}

/** The same of what a task asks beyond that. */
class LookedExclusions extends Exclusions {
  looks = 0;
  override get(id: number) {
    this.looks++;
    return super.get(id);
  }
}

/** The queue as the supervisor keeps it. */
function supervised() {
  const book = new Looked();
  const exclusions = new LookedExclusions();
  const profiles = new Profiles(book, exclusions);
  const index = new QueueIndex((key) => profiles.filingOf(key));
  return { book, exclusions, profiles, index };
}

describe('the cost of a lease that finds nothing', () => {
  test('includes no look at tasks that ask for labels or packages that the worker lacks', () => {
    const index = filed();
    let tried = 0;
    const view = new QueueView(['', 'packages.demo', 'label none'], () => ++tried < 0);
    assert.equal(index.take(FOR_GOOD, [view]), null);
    assert.ok(tried <= 1, `${tried} were tried`);
  });

  test('is one look at each requirement for all workers that declared the same, however often they ask', () => {
    const index = new QueueIndex(() => ({ terms: ['packages.demo'] }));
    for (let key = 1; key <= MANY; key++) index.add(FOR_GOOD, key, 0, key);
    let tried = 0;
    const view = new QueueView(['', 'packages.demo'], () => ++tried < 0);
    for (let i = 0; i < 1000; i++) assert.equal(index.take(FOR_GOOD, [view]), null);
    assert.equal(tried, MANY);
    index.add(FOR_GOOD, MANY + 1, 0, MANY + 1);
    for (let i = 0; i < 1000; i++) assert.equal(index.take(FOR_GOOD, [view]), null);
    assert.equal(tried, MANY + 1, 'only what is new is looked at');
  });

  test('includes no look at requirements of which no task is queued any more', () => {
    const index = new QueueIndex(() => ({ terms: [] }));
    for (let key = 1; key <= MANY; key++) index.add(FOR_GOOD, key, 0, key);
    for (let key = 1; key <= MANY; key++) index.remove(FOR_GOOD, key, 0, key);
    let tried = 0;
    assert.equal(index.take(FOR_GOOD, [new QueueView([''], () => ++tried > 0)]), null);
    assert.deepEqual([tried, index.held, index.buckets], [0, 0, 0]);
  });

  /** Requirements that are all different, and none of which such a worker meets. */
  const apart: Record<string, (i: number) => Requirements> = {
    'the version of a package': (i) => ({ packages: { demo: `==1.${i}` } }),
    'up to which version of a package': (i) => ({ packages: { demo: `>=1.0,<1.${i}` } }),
    'from which version of a package on': (i) => ({ packages: { demo: `>=2.${i}` } }),
    memory: (i) => ({ packages: { demo: '>=1' }, min_memory_gb: 65 + i }),
    GPUs: (i) => ({ packages: { demo: '' }, min_gpu_count: 1 + i }),
  };
  const kind: WorkerProfile = {
    labels: {},
    capabilities: { memory_gb: 64 },
    version: { packages: { demo: '1.99999' } },
  };
  for (const [what, make] of Object.entries(apart)) {
    test(`does not grow with the number of requirements that differ in ${what}, at the first request or long after`, () => {
      const { book, index, profiles } = supervised();
      const worker = new WorkerCell(workerRow('worker_0', kind), true);
      const fill = (from: number) => {
        for (let i = from; i < from + MANY; i++) index.add(FOR_GOOD, book.number(FOR_GOOD, make(i)).id, 0, i);
        book.looks = 0;
      };
      const early = new WorkerCell(workerRow('worker_1', { ...kind, labels: { came: 'before all' } }), true);
      assert.equal(index.take(FOR_GOOD, profiles.viewsOf(early)), null);
      fill(1);
      for (const one of [worker, early]) assert.equal(index.take(FOR_GOOD, profiles.viewsOf(one)), null);
      fill(MANY + 1);
      assert.equal(index.take(FOR_GOOD, profiles.viewsOf(worker)), null);
      assert.ok(book.looks < MANY / 100, `${book.looks} were looked at`);
    });
  }

  test('does not grow with the number of tasks that avoid the worker or name a path that it lacks', () => {
    const { book, index, profiles, exclusions } = supervised();
    const worker = new WorkerCell(workerRow('worker_0', kind), true);
    lack(worker, '/x');
    for (let i = 1; i <= MANY; i++) {
      const requirement = book.number(FOR_GOOD, { min_memory_gb: i / MANY }).id;
      const keptFrom =
        i % 2 > 0 ? { avoids: [registrationOf(worker.row)], paths: [] } : { avoids: [], paths: ['/x'] };
      index.add(FOR_GOOD, exclusions.enter(FOR_GOOD, i, { requirement, ...keptFrom }), 0, i);
    }
    exclusions.looks = 0;
    assert.equal(index.take(FOR_GOOD, profiles.viewsOf(worker)), null);
    assert.ok(exclusions.looks < MANY / 100, `${exclusions.looks} were looked at`);
  });

  test('includes no memory for tasks that have left: a view holds about as much as is queued', () => {
    const index = new QueueIndex(() => ({ terms: [] }));
    const view = new QueueView([''], () => true);
    index.add(FOR_GOOD, 1, 0, 1);
    for (let key = 2; key <= 4 * MANY; key++) {
      index.add(FOR_GOOD, key, 0, key);
      view.next(index);
      index.remove(FOR_GOOD, key, 0, key);
    }
    assert.ok(view.held < 1100, `${view.held} buckets are held, of which ${index.buckets} have tasks`);
    assert.equal(view.next(index)?.head, 1);
  });
});
