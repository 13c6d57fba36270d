import { setImmediate } from 'node:timers/promises';
import type { EventSource } from '../../../gateway/backend.ts';
import type { Timing } from '../../shared/clock.ts';
import { Progress } from './progress.ts';
import { believeClock } from './steps/believe-clock.ts';
import { clearDeletions } from './steps/clear-deletions.ts';
import { expireByWish, expireJobs } from './steps/expire-jobs.ts';
import { limitDisk } from './steps/limit-disk.ts';
import {
  dropMinutes,
  expireLooseEvents,
  expireOrphans,
  expireUploads,
  forgetWorkers,
} from './steps/others.ts';
import { removeLeftovers } from './steps/remove-leftovers.ts';
import { removeObjects } from './steps/remove-objects.ts';
import { shedJobArtifacts, shedJobEvents, shedLogs } from './steps/shed.ts';
import { shrink } from './steps/shrink.ts';
import type { Places, Step, Work } from './work.ts';

/** Seconds from the start to the first pass, and from the end of one to the next. */
const FIRST = 10;
const EVERY = 3600;
/** Seconds after which all jobs are looked at again, also those that stayed before. */
const ANEW = 86_400;
/** Seconds until a pass that failed is tried again. */
const AGAIN = 60;
/** A slice is followed by a rest that takes so many times as long, up to a few seconds. */
const RESTS = 9;
const LONGEST_REST = 5;

/** A whole pass; what jobs leave behind comes behind what deletes jobs, and is not counted against the limit of the disk. */
const PASS: readonly Step[] = [
  ...[believeClock, forgetWorkers, dropMinutes, shedLogs, shedJobArtifacts, shedJobEvents],
  ...[expireByWish, expireJobs],
  ...[
    expireUploads,
    expireOrphans,
    clearDeletions,
    limitDisk,
    expireLooseEvents,
    clearDeletions,
    removeObjects,
    removeLeftovers,
    shrink,
  ],
];
/** What a deletion leaves to be done. */
const AFTER_DELETION: readonly Step[] = [clearDeletions, shrink];

/**
 * Deletes what nobody wants kept any longer, beside the server's work: in slices, each a turn to itself, between which
 * it rests nine times as long. It has no state that matters: after a crash it goes on with what it finds in the store.
 */
export class Retention {
  readonly progress = new Progress();
  readonly #work: Work;
  readonly #places: Places = new Map();
  readonly #resting: Timing;
  readonly #unsubscribe: () => void;
  #cancelTimer: () => void = () => {};
  #cancelRest: () => void = () => {};
  #running: Promise<void> | null = null;
  /** Whether jobs were deleted that the present pass may have come too early for. */
  #hasDeleted = false;
  #isPassDue = false;
  #stopped = false;
  #placesSince: number;

  /** @param resting what rests are measured by: time as others have it, also where the clock is a simulated one */
  constructor(work: Omit<Work, 'progress' | 'places' | 'time'>, events: EventSource, resting: Timing) {
    this.#resting = resting;
    const time = { believed: 0 };
    this.#work = { ...work, time, progress: this.progress, places: this.#places };
    this.#placesSince = work.clock.monotonic();
    this.#unsubscribe = events.subscribe((committed) => {
      if (committed.some(({ type, task_id }) => type === 'job_deleted' && task_id === null)) this.#deleted();
    });
  }

  /** Goes on with what an earlier server left; then it looks for what is due. */
  start(): void {
    this.#begin(AFTER_DELETION);
    this.#passIn(FIRST);
  }

  /** Null while it waits; else resolves when it does so again. */
  get running(): Promise<void> | null {
    return this.#running;
  }

  /** Ends with the slice that is under way. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe();
    this.#cancelTimer();
    this.#cancelRest();
    await this.#running;
  }

  #deleted(): void {
    this.#hasDeleted = true;
    this.#begin(AFTER_DELETION);
  }

  #passIn(seconds: number): void {
    this.#cancelTimer();
    if (this.#stopped) return;
    this.#cancelTimer = this.#work.clock.timer(seconds, () => {
      this.#isPassDue = true;
      this.#begin(PASS);
    });
  }

  #begin(steps: readonly Step[]): void {
    if (this.#stopped || this.#running !== null) return;
    this.#running = this.#run(steps).finally(() => {
      this.#running = null;
      if (this.#isPassDue) this.#begin(PASS);
    });
  }

  async #run(first: readonly Step[]): Promise<void> {
    const before = { ...this.progress.counts };
    let next = EVERY;
    try {
      for (let steps = first; !this.#stopped; steps = AFTER_DELETION) {
        if (steps === PASS) {
          this.#isPassDue = false;
          this.#lookAnew();
        }
        this.#hasDeleted = false;
        for (const step of steps) await this.#take(step);
        if (!this.#hasDeleted) break;
      }
      if (first === PASS) this.progress.lastPassAt = this.#work.clock.now();
    } catch (error) {
      next = AGAIN;
      if (!this.#stopped) {
        this.progress.failedPasses++;
        this.#work.log.warn(
          { err: error },
          'what is to be deleted could not be; it is tried again in a minute',
        );
      }
    }
    this.#tell(before);
    if (first === PASS || next === AGAIN) this.#passIn(next);
  }

  #lookAnew(): void {
    const now = this.#work.clock.monotonic();
    if (now - this.#placesSince < ANEW) return;
    this.#placesSince = now;
    this.#places.clear();
  }

  async #take(step: Step): Promise<void> {
    const now = this.#resting.monotonic;
    let began = now();
    for await (const _ of step(this.#work)) {
      if (!this.#stopped) await this.#rest(now() - began);
      if (this.#stopped) return;
      began = now();
    }
  }

  /** @param worked seconds that the slice took, those included in which others had their turns before it */
  #rest(worked: number): Promise<void> {
    if (worked <= 0) return setImmediate();
    return new Promise((resolve) => {
      const cancel = this.#resting.timer(Math.min(LONGEST_REST, RESTS * worked), resolve);
      this.#cancelRest = () => {
        cancel();
        resolve();
      };
    });
  }

  #tell(before: Readonly<Record<string, number>>): void {
    const gone = Object.entries(this.progress.counts)
      .map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const)
      .filter(([, count]) => count > 0);
    if (gone.length === 0) return;
    const words = gone.map(([kind, count]) => `${count} ${kind}`).join(', ');
    this.#work.log.info(Object.fromEntries(gone), `deleted: ${words}`);
  }
}
