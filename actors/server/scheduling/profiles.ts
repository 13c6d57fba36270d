import { LRUCache } from 'lru-cache';
import { Declared, termsDeclared, type WorkerProfile } from '../../../machines/matching/matching.ts';
import { type Clock, systemClock } from '../../shared/clock.ts';
import type { WorkerCell } from '../runtime/actor-cell.ts';
import { hasTimeFor, isEnding } from './ends.ts';
import { Exclusions, isKeptFrom, type KeptFrom, registrationOf } from './exclusions.ts';
import { JobTimes } from './job-times.ts';
import { requirementOf } from './lanes.ts';
import type { QueueIndex, View } from './queue-index.ts';
import { QueueView, type TimeLeft } from './queue-view.ts';
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

/** Exclusions are filed apart from what is only required: only some have a view of them. */
const EXCLUSION = 'exclusion ';

const NOTHING_ASKED: Filing = { terms: [], ranges: [] };

/** What all workers that declared the same have in common. */
interface Profile {
  readonly declared: Declared;
  readonly terms: readonly string[];
  /** What is queued under a requirement alone and all of them may run. */
  readonly view: QueueView;
  /** The same for who has so much time left. */
  viewWithin(timeLeft: TimeLeft): QueueView;
}

/** What of what its kind may run one worker has the time for. */
interface EndingView {
  readonly view: QueueView;
  readonly declared: WorkerCell['row']['version'];
}

/** How long what is under a key takes. */
type Timing = Pick<TimeLeft, 'times' | 'jobOf'> & { clock: Clock; secondsOf(key: number): number | null };

const UNKNOWN: Timing = {
  times: new JobTimes(),
  clock: systemClock,
  jobOf: () => 0,
  secondsOf: () => null,
};

/** What of the exclusions one worker may run, as it declared itself and with the paths that it lacks. */
interface OwnView {
  readonly view: QueueView;
  readonly declared: WorkerCell['row']['version'];
  readonly missingPaths: WorkerCell['missingPaths'];
}

/**
 * What the workers may run of what is queued. Those that declared the same share one view of what is required; where a
 * task avoids a worker, or names a path that it lacks, that is the worker's own view of the exclusions. All of it can be
 * found anew at any time: it is forgotten where it takes too much room.
 */
export class Profiles {
  readonly #requirements: RequirementBook;
  readonly #exclusions: Exclusions;
  readonly #timing: Timing;
  #looks = 0;
  readonly #kinds = new LRUCache<string, Profile>({ max: MOST_KINDS, maxSize: MOST_BYTES });
  readonly #own = new WeakMap<WorkerCell, OwnView>();
  /** By worker, of those for which what is next takes too long. */
  readonly #ending = new LRUCache<string, EndingView>({ max: MOST_KINDS });

  constructor(requirements: RequirementBook, exclusions: Exclusions, timing = UNKNOWN) {
    this.#requirements = requirements;
    this.#exclusions = exclusions;
    this.#timing = timing;
  }

  /** Where tasks under this key are filed. */
  filingOf(key: number): Filing {
    if (!Exclusions.isExclusion(key)) return this.#requirements.filing(requirementOf(key));
    const keptFrom = this.#exclusions.get(key);
    const asked = keptFrom ? this.#requirements.filing(requirementOf(keptFrom.requirement)) : NOTHING_ASKED;
    const terms = asked.terms.length > 0 ? asked.terms : [''];
    return { ...asked, terms: terms.map((term) => EXCLUSION + term), keptFrom };
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
  viewsOf(worker: WorkerCell): View[] {
    if (++this.#looks % LOOKS === 0) this.#trim();
    const { view } = this.#profileOf(worker.row);
    const timeLeft = this.#timeLeftOf(worker);
    const views: View[] = [timeLeft ? this.#inTime(worker, timeLeft) : view];
    if (this.#exclusions.size > 0) views.push(this.#ownViewOf(worker, timeLeft));
    else this.#own.delete(worker);
    return views;
  }

  /** Null for a worker without an end. */
  #timeLeftOf({ row }: WorkerCell): TimeLeft | null {
    const { times, clock, jobOf, secondsOf } = this.#timing;
    if (!isEnding(row, clock)) return null;
    return { times, jobOf, suffices: (key) => hasTimeFor(row, secondsOf(key), clock) };
  }

  /**
   * What all of its kind may run, as long as the worker has the time for what is next; else it looks for itself, past
   * what takes too long.
   */
  #inTime(worker: WorkerCell, timeLeft: TimeLeft): View {
    const profile = this.#profileOf(worker.row);
    return {
      next: (index) => {
        const bucket = profile.view.next(index);
        if (bucket === undefined || timeLeft.suffices(bucket.key)) return bucket;
        const known = this.#ending.get(worker.id);
        if (known?.declared === worker.row.version) return known.view.next(index);
        const view = profile.viewWithin(timeLeft);
        this.#ending.set(worker.id, { view, declared: worker.row.version });
        return view.next(index);
      },
    };
  }

  #trim(): void {
    let held = 0;
    for (const { view } of this.#kinds.values()) {
      held += view.held;
      // Most recently used first.
      if (held > MOST_HELD) view.forget();
    }
    for (const { view } of this.#ending.values()) {
      held += view.held;
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
      !Exclusions.isExclusion(key) && declared.meets(this.#requirements.asked(requirementOf(key)));
    const seeker = { pointIn: (range: string) => declared.pointIn(range), isKept: () => false };
    const viewWithin = (timeLeft: TimeLeft | null) => new QueueView(['', ...terms], passes, seeker, timeLeft);
    const profile = { declared, terms, view: viewWithin(null), viewWithin };
    const size = OVERHEAD + 2 * JSON.stringify(of).length;
    this.#kinds.set(kind, profile, { size });
    return profile;
  }

  /** A new one whenever it registered anew or lacks other paths than before. */
  #ownViewOf(worker: WorkerCell, timeLeft: TimeLeft | null): QueueView {
    const { row, missingPaths } = worker;
    const own = this.#own.get(worker);
    if (own?.declared === row.version && own.missingPaths === missingPaths) return own.view;
    const profile = this.#profileOf(row);
    const terms = ['', ...profile.terms].map((term) => EXCLUSION + term);
    const registration = registrationOf(worker.row);
    const seeker = {
      pointIn: (of: string) => profile.declared.pointIn(of),
      isKept: (from: KeptFrom) => isKeptFrom(from, worker, registration),
    };
    const passes = (key: number) => {
      const exclusion = this.#exclusions.get(key);
      if (exclusion === undefined || seeker.isKept(exclusion)) return false;
      return profile.declared.meets(this.#requirements.asked(requirementOf(exclusion.requirement)));
    };
    const view = new QueueView(terms, passes, seeker, timeLeft);
    this.#own.set(worker, { view, declared: row.version, missingPaths });
    return view;
  }
}
