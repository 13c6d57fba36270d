import type { JobRow, TaskRow } from '../store/rows.ts';
import type { Journal } from '../turn/journal.ts';
import { Backoffs } from './backoffs.ts';
import { Demands } from './demands.ts';
import { Gates } from './gates.ts';
import { jobOf, keyInJob, type Lane, requirementOf } from './lanes.ts';
import { Profiles } from './profiles.ts';
import { QueueIndex } from './queue-index.ts';
import { RequirementBook } from './requirements.ts';
import type { Share } from './rounds.ts';

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
  readonly demands = new Demands();
  /** What workers may run of it. */
  readonly profiles = new Profiles(this.requirements, this.demands);
  readonly index: QueueIndex;
  /** Of what nothing is leased at present. */
  readonly gates: Gates;
  /** Tasks that wait after a failure before they are in the index. */
  readonly backoffs = new Backoffs();

  constructor({ share = 'fifo', maxRunningPerOwner = null }: Sharing = {}) {
    this.share = share;
    this.gates = new Gates(maxRunningPerOwner, (scope) => this.index.openings.open(scope));
    this.index = new QueueIndex((key) => this.profiles.filingOf(key), {
      share,
      jobOf: (key) => jobOf(this.plainKey(key)),
      isShut: (lane) => this.gates.isShut(lane),
    });
  }

  /** A key without what is asked beyond a requirement. */
  plainKey(key: number): number {
    return (Demands.isDemand(key) ? this.demands.get(key)?.requirement : key) ?? 0;
  }

  /** Whose the tasks under a key are. */
  laneOf(key: number): Lane {
    return this.requirements.laneOf(requirementOf(this.plainKey(key)));
  }

  /** Under which a task is queued that asks nothing beyond its requirement. @param job its job, where jobs take turns */
  keyOf({ requirement_id }: Pick<TaskRow, 'requirement_id'>, job: Pick<JobRow, 'seq'> | undefined): number {
    return this.share === 'job' ? keyInJob(requirement_id, job?.seq ?? 0) : requirement_id;
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
