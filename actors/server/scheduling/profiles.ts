import { LRUCache } from 'lru-cache';
import { Declared, termsDeclared, type WorkerProfile } from '../../../machines/matching/matching.ts';
import type { WorkerCell } from '../runtime/actor-cell.ts';
import { Demands, isKeptFrom, type KeptFrom, registrationOf } from './demands.ts';
import { requirementOf } from './lanes.ts';
import type { QueueIndex } from './queue-index.ts';
import { QueueView } from './queue-view.ts';
import type { RequirementBook } from './requirements.ts';
import type { Filing } from './shelf.ts';
import { kindOf } from './worker-kind.ts';

/** Kinds of workers that are remembered, and bytes of what they declared. */
const MOST_KINDS = 10_000;
const MOST_BYTES = 64 * 1024 * 1024;
/** What a kind takes beside its declaration. */
const OVERHEAD = 2048;
/** Buckets that all views together remember, at 16 bytes each; beyond it they look anew. */
const MOST_HELD = 4_000_000;

/** Views are trimmed every so many look-ups. */
const LOOKS = 1000;

/** Demands are filed apart from what is only required: only some have a view of them. */
const DEMAND = 'demand ';

const NOTHING_ASKED: Filing = { terms: [], ranges: [] };

/** What all workers that declared the same have in common. */
interface Profile {
  readonly declared: Declared;
  readonly terms: readonly string[];
  /** What is queued under a requirement alone and all of them may run. */
  readonly view: QueueView;
}

/** What of the demands one worker may run, as it declared itself and with the paths that it lacks. */
interface OwnView {
  readonly view: QueueView;
  readonly declared: WorkerCell['row']['version'];
  readonly missingPaths: WorkerCell['missingPaths'];
}

/**
 * What the workers may run of what is queued. Those that declared the same share one view of what is required; where a
 * task avoids a worker, or names a path that it lacks, that is the worker's own view of the demands. All of it can be
 * found anew at any time: it is forgotten where it takes too much room.
 */
export class Profiles {
  readonly #requirements: RequirementBook;
  readonly #demands: Demands;
  #looks = 0;
  readonly #kinds = new LRUCache<string, Profile>({ max: MOST_KINDS, maxSize: MOST_BYTES });
  readonly #own = new WeakMap<WorkerCell, OwnView>();

  constructor(requirements: RequirementBook, demands: Demands) {
    this.#requirements = requirements;
    this.#demands = demands;
  }

  /** Where tasks under this key are filed. */
  filingOf(key: number): Filing {
    if (!Demands.isDemand(key)) return this.#requirements.filing(requirementOf(key));
    const keptFrom = this.#demands.get(key);
    const asked = keptFrom ? this.#requirements.filing(requirementOf(keptFrom.requirement)) : NOTHING_ASKED;
    const terms = asked.terms.length > 0 ? asked.terms : [''];
    return { ...asked, terms: terms.map((term) => DEMAND + term), keptFrom };
  }

  isMetBy(requirement: number, worker: WorkerCell): boolean {
    return this.#profileOf(worker.row).declared.meets(this.#requirements.asked(requirementOf(requirement)));
  }

  /** The requirements that a worker does not meet that declared this, in words. */
  unmetBy(requirement: number, declared: WorkerProfile): string[] {
    return this.#profileOf(declared).declared.unmet(this.#requirements.asked(requirement));
  }

  /** What is queued is looked at for a worker that registers, so that its first lease need not. */
  prepare(worker: WorkerCell, queue: QueueIndex): void {
    this.#profileOf(worker.row).view.next(queue);
  }

  /** What of the queue a worker may run. */
  viewsOf(worker: WorkerCell): QueueView[] {
    if (++this.#looks % LOOKS === 0) this.#trim();
    const { view } = this.#profileOf(worker.row);
    if (this.#demands.size > 0) return [view, this.#ownViewOf(worker)];
    this.#own.delete(worker);
    return [view];
  }

  #trim(): void {
    let held = 0;
    for (const { view } of this.#kinds.values()) {
      held += view.held;
      // Most recently used first.
      if (held > MOST_HELD) view.forget();
    }
  }

  #profileOf({ labels, capabilities, version }: WorkerProfile): Profile {
    const of = { labels, capabilities, version };
    const kind = kindOf(of);
    const known = this.#kinds.get(kind);
    if (known) return known;
    const declared = new Declared(of);
    const terms = termsDeclared(of);
    const passes = (key: number) =>
      !Demands.isDemand(key) && declared.meets(this.#requirements.asked(requirementOf(key)));
    const seeker = { pointIn: (range: string) => declared.pointIn(range), isKept: () => false };
    const profile = { declared, terms, view: new QueueView(['', ...terms], passes, seeker) };
    const size = OVERHEAD + 2 * JSON.stringify(of).length;
    this.#kinds.set(kind, profile, { size });
    return profile;
  }

  /** A new one whenever it registered anew or lacks other paths than before. */
  #ownViewOf(worker: WorkerCell): QueueView {
    const { row, missingPaths } = worker;
    const own = this.#own.get(worker);
    if (own?.declared === row.version && own.missingPaths === missingPaths) return own.view;
    const profile = this.#profileOf(row);
    const terms = ['', ...profile.terms].map((term) => DEMAND + term);
    const registration = registrationOf(worker.row);
    const seeker = {
      pointIn: (of: string) => profile.declared.pointIn(of),
      isKept: (from: KeptFrom) => isKeptFrom(from, worker, registration),
    };
    const passes = (key: number) => {
      const demand = this.#demands.get(key);
      if (demand === undefined || seeker.isKept(demand)) return false;
      return profile.declared.meets(this.#requirements.asked(requirementOf(demand.requirement)));
    };
    const view = new QueueView(terms, passes, seeker);
    this.#own.set(worker, { view, declared: row.version, missingPaths });
    return view;
  }
}
