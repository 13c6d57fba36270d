import type { Logger } from 'pino';
import type { Blobs } from '../../gateway/backend.ts';
import type { Clock, Timing } from '../shared/clock.ts';
import type { IdKind } from '../shared/ids.ts';
import type { Counters } from './counters.ts';
import type { JobPiecesCache } from './jobs/job-pieces.ts';
import type { Measures } from './metrics/measures.ts';
import type { ActorDirectory } from './runtime/actor-directory.ts';
import type { Deadlines } from './runtime/deadlines.ts';
import type { JournaledPeers } from './runtime/journaled-peers.ts';
import type { HandOuts } from './scheduling/hand-outs.ts';
import type { LongPolls } from './scheduling/long-polls.ts';
import type { Share } from './scheduling/rounds.ts';
import type { WorkQueue } from './scheduling/work-queue.ts';
import type { Store } from './store/store.ts';

/** Times, in seconds, and limits of the service. */
export interface SupervisorSettings {
  leaseTtl: number;
  heartbeatInterval: number;
  workerDeadAfter: number;
  /** How long the server leaves it to the worker to enforce a task's timeout. */
  timeoutGrace: number;
  /** How long a complete or fail waits for the store before it is refused. */
  reportTimeout: number;
  /** Between two tries of a store that cannot commit. */
  probeInterval: number;
  /** Messages that may wait in the mailbox; more are refused, but for heartbeats and the reports of results. */
  maxWaiting: number;
  /** Tasks that one turn cancels or queues again; larger jobs take several, so that others get their turn. */
  sliceSize: number;
  /** How free slots are shared within a priority. */
  share: Share;
  /** Tasks that an owner may have under way; null: any number. */
  maxRunningPerOwner: number | null;
  /** Whether somebody is to be told of the ends of jobs. */
  notifies: boolean;
  version: string;
}

export const DEFAULT_SETTINGS: Omit<SupervisorSettings, 'version'> = {
  leaseTtl: 60,
  heartbeatInterval: 10,
  workerDeadAfter: 45,
  timeoutGrace: 60,
  reportTimeout: 30,
  probeInterval: 1,
  maxWaiting: 10_000,
  sliceSize: 250,
  share: 'fifo',
  maxRunningPerOwner: null,
  notifies: false,
};

/** What a deadline is about; the id follows the colon. */
export type DeadlineKey =
  | `lease:${string}`
  | `silence:${string}`
  | `timeout:${string}`
  | `stale:${string}`
  /** The first of the tasks that wait after a failure may be leased again. */
  | 'backoff:'
  /** The next slice of a job's bulk command. */
  | `slice:${string}`
  /** The time is over for which a worker that is drained may go on with what it has. */
  | `drain:${string}`
  /** The oldest of a worker's missing paths is forgotten. */
  | `missing:${string}`;

/** The next number of each counter that must never repeat. */
export interface Sequences {
  job: number;
  task: number;
  event: number;
  /** Seconds; each job's `created_at` is larger than this. */
  lastCreatedAt: number;
}

/** What turns share. Whoever needs but some of it says which. */
export interface Core {
  readonly clock: Clock;
  /** What leases, silence and timeouts are measured on: it stands while no worker could be heard. */
  readonly hearing: Timing;
  readonly settings: SupervisorSettings;
  readonly store: Store;
  /** The bytes of artifacts. */
  readonly blobs: Pick<Blobs, 'assertWhole' | 'read'>;
  readonly log: Logger;
  readonly makeId: (kind: IdKind) => string;
  readonly directory: ActorDirectory;
  readonly queue: WorkQueue;
  readonly deadlines: Deadlines<DeadlineKey>;
  /** What waits for time as such, whether anybody could be heard in it or not: on `clock`, not on `hearing`. */
  readonly waits: Deadlines<DeadlineKey>;
  readonly longPolls: LongPolls;
  readonly jobPieces: JobPiecesCache;
  /** Tasks that are on their way to their workers. */
  readonly handOuts: HandOuts;
  readonly counters: Counters;
  /** What is told to who watches the server from outside. */
  readonly measures: Measures;
  readonly sequences: Sequences;
  /** Peers already noted, also before the last restart. */
  readonly peers: JournaledPeers;
}
