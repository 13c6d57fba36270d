import { expectedSeconds } from '../../../machines/job/run-times.ts';
import { type Clock, systemClock } from '../../shared/clock.ts';
import type { JobRow, TaskRow } from '../store/rows.ts';
import type { Journal } from '../turn/journal.ts';
import { Backoffs } from './backoffs.ts';
import { Exclusions } from './exclusions.ts';
import { Gates } from './gates.ts';
import { JobTimes } from './job-times.ts';
import { jobOf, keyInClass, keyInJob, type Lane, requirementOf, timeClassOf } from './lanes.ts';
import { Profiles } from './profiles.ts';
import { QueueIndex } from './queue-index.ts';
import { RequirementBook } from './requirements.ts';
import type { Share } from './rounds.ts';
import { classSeconds, timeClass } from './time-class.ts';

/** What of a job decides where its tasks are queued; none of it changes while one of them is. */
export type QueuedJob = Pick<JobRow, 'seq' | 'num_tasks'> & { selection: unknown };

/** Whether one task of it may tell how long the others take. */
export const hasSeveral = ({ num_tasks, selection }: Omit<QueuedJob, 'seq'>): boolean =>
  num_tasks > 1 || selection !== null;

type Place = Pick<TaskRow, 'priority' | 'seq'> & { key: number };

/** How slots are shared; absent: first come, first served, without a limit. */
export interface Sharing {
  share?: Share;
  /** Tasks that an owner may have under way; null: any number. */
  maxRunningPerOwner?: number | null;
}

/** What is queued, who may run it, and whose turn it is. */
export class WorkQueue {
  readonly share: Share;
  readonly requirements = new RequirementBook();
  /** What some tasks ask beyond that. */
  readonly exclusions = new Exclusions();
  /** How long tasks take, of jobs that have shown it. */
  readonly times = new JobTimes();
  /** What workers may run of it. */
  readonly profiles: Profiles;
  readonly index: QueueIndex;
  /** Of what nothing is leased at present. */
  readonly gates: Gates;
  /** Tasks that wait after a failure before they are in the index. */
  readonly backoffs = new Backoffs();

  constructor({ share = 'fifo', maxRunningPerOwner = null }: Sharing = {}, clock: Clock = systemClock) {
    this.share = share;
    this.profiles = new Profiles(this.requirements, this.exclusions, {
      ...{ times: this.times, clock },
      jobOf: (key) => jobOf(this.plainKey(key)),
      secondsOf: (key) => this.secondsOf(key),
    });
    this.gates = new Gates(maxRunningPerOwner, (scope) => this.index.openings.open(scope));
    this.index = new QueueIndex((key) => this.profiles.filingOf(key), {
      share,
      jobOf: (key) => jobOf(this.plainKey(key)),
      isShut: (lane) => this.gates.isShut(lane),
    });
  }

  /** A key without what is asked beyond a requirement. */
  plainKey(key: number): number {
    return (Exclusions.isExclusion(key) ? this.exclusions.get(key)?.requirement : key) ?? 0;
  }

  /** Whose the tasks under a key are. */
  laneOf(key: number): Lane {
    return this.requirements.laneOf(requirementOf(this.plainKey(key)));
  }

  /**
   * Under which a task is queued that asks nothing beyond its requirement: beside those that take as long, as far as that
   * is known or will be. It stays the same for as long as the task is queued.
   */
  keyOf(
    { requirement_id, timeout_seconds }: Pick<TaskRow, 'requirement_id' | 'timeout_seconds'>,
    job: QueuedJob,
  ): number {
    if (this.share === 'job') return keyInJob(requirement_id, job.seq);
    if (timeout_seconds !== null) return keyInClass(requirement_id, timeClass(timeout_seconds));
    return hasSeveral(job) ? keyInJob(requirement_id, job.seq) : requirement_id;
  }

  /** How long a task under a key is expected to take at most, in seconds; null where that is not known. */
  secondsOf(key: number): number | null {
    const plain = this.plainKey(key);
    const limit = timeClassOf(plain);
    return limit > 0 ? classSeconds(limit) : this.times.of(jobOf(plain));
  }

  /** Takes up how long the tasks of a job take, as far as it is known by now. */
  timeJob(
    journal: Journal,
    { seq, run_times }: Pick<JobRow, 'seq' | 'run_times'>,
    { timeout_seconds }: Pick<TaskRow, 'timeout_seconds'>,
  ): void {
    const seconds = timeout_seconds ?? expectedSeconds(run_times);
    if (seconds !== null) this.times.set(journal, seq, seconds);
  }

  /** Takes what is next for one who has these views; its owner has one task more under way. */
  take(journal: Journal, views: Parameters<QueueIndex['take']>[1]): Place | null {
    const next = this.index.take(journal, views);
    if (next !== null && this.gates.limit !== null) this.gates.began(journal, this.laneOf(next.key));
    return next;
  }

  /** It is not leased after all. @returns whether others may go that were kept by it */
  putBack(journal: Journal, { key, priority, seq }: Place): boolean {
    this.index.add(journal, key, priority, seq);
    return this.gates.ended(journal, this.laneOf(key));
  }
}
