import type { Scope } from './operations.ts';

/** The reference model's state: plain data, so that it can be copied to try several orders of the same requests. */
export interface Task {
  name: string;
  job: string;
  order: number;
  priority: number;
  site: string | null;
  limited: boolean;
  patient: boolean;
  /** It asks for a version of its library. */
  pinned: boolean;
  /** What it is made of, where that is known; else it names the path that workers may lack. */
  content: string | null;
  status: 'queued' | 'leased' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Running, and its job is being cancelled. */
  stopping: boolean;
  attempt: number;
  maxAttempts: number;
  /** Faults of workers that it has met, and the registrations that reported them. */
  workerFaults: number;
  /** How many of its attempts were given back by workers that had to end. */
  givenBack: number;
  avoids: string[];
  /** It was looked at for a worker that lacks its path, and is not looked at again for any such. */
  looked: boolean;
  /**
   * Second of the wall clock before which it is not leased; null: at once. And until when it waits, by its own time.
   */
  notBefore: number | null;
  waitsUntil: number;
  worker: string | null;
  /** Which of the leases since the last start its own was. */
  leaseNumber: number;
  leaseEnds: number;
  timesOut: number;
  /** Second of its own last sign of life. */
  sign: number;
  last: { worker: string; attempt: number; verb: string; answer: Answer } | null;
  /** The ticket of the report whose result is recorded. */
  result: number | null;
  /** The task whose result it has. */
  reusedFrom: string | null;
}
export interface Job {
  name: string;
  status: 'queued' | 'running' | 'cancelling' | 'cancelled' | 'succeeded' | 'failed';
  priority: number;
  retry: number;
  /** Results are looked up for its tasks, and none of them is leased before. */
  looking: boolean;
}

export interface Worker {
  name: string;
  alive: boolean;
  silentAt: number;
  slots: number;
  site: string;
  /** Counts its registrations. */
  session: number;
  suspended: boolean;
  /** By order of an operator. */
  drained: boolean;
  /** Until when it is known to lack the path of all tasks. */
  lacksUntil: number;
  /** Tasks taken from it without its own word. */
  revoked: string[];
  /** When the server's view of its slots is doubted. */
  doubtAt: number;
  askedUntil: number;
}
export interface WaitingLease {
  ticket: number;
  worker: string;
  session: number | null;
  max: number;
  until: number;
}
export interface WaitingBeat {
  ticket: number;
  worker: string;
  session: number | null;
  stopping: string[];
  until: number;
}
export interface Told {
  type: string;
  job?: string;
  task?: string;
  worker?: string | null;
  attempt?: number;
  requeued?: boolean;
}
/** An answer with every id replaced by its name here. */
export interface Answer {
  status: number;
  code?: string;
  body?: Record<string, unknown>;
  /** Of a heartbeat that was held back: it tells some of this at least, and the next one tells the rest. */
  first?: true;
}
export interface World {
  now: number;
  /** Seconds by which the wall clock was set, all together. */
  jumped: number;
  jobs: Record<string, Job>;
  tasks: Record<string, Task>;
  workers: Record<string, Worker>;
  keys: Record<string, { job: string; body: string }>;
  /** While there is one, nothing is leased: each is of all jobs here. */
  paused: Scope[];
  /** By content, the task that computed it last. */
  computed: Record<string, string>;
  leases: WaitingLease[];
  beats: WaitingBeat[];
  events: Told[];
  answers: Record<number, Answer>;
  /** Workers that must hear of something new to stop. */
  concerned: string[];
  /** Leases since the last start. */
  leased: number;
  /** The tasks of a job that is cancelled are told one after the other; in between, who waits gets what there is. */
  inSlices: boolean;
  /** After so many of them the server dies, so that nobody waits for the rest. */
  diesAfter: number;
  /**
   * The last slice comes after all that was asked at the same time: what ends a job that is cancelled, and what lets the
   * tasks be leased of one for which results are looked up.
   */
  endsLate: boolean;
  /** Nothing can be written: what needs it does not happen. */
  storeFails: boolean;
}

export const refused = (status: number, code: string): Answer => ({ status, code });
export const done = (body: Record<string, unknown>): Answer => ({ status: 200, body });

export const NEVER = Number.POSITIVE_INFINITY;

export const emptyWorld = (now: number): World => ({
  now,
  jumped: 0,
  jobs: {},
  tasks: {},
  workers: {},
  keys: {},
  paused: [],
  computed: {},
  leases: [],
  beats: [],
  events: [],
  answers: {},
  concerned: [],
  leased: 0,
  inSlices: true,
  diesAfter: NEVER,
  endsLate: false,
  storeFails: false,
});

export const wallOf = (world: World): number => world.now + world.jumped;
export const lacksPath = (world: World, worker: Worker): boolean => worker.lacksUntil > world.now;
export const namesPath = (task: Task): boolean => task.content === null;
export const isHeld = (task: Task): boolean => task.status === 'leased' || task.status === 'running';
export const hasEnded = (task: Task): boolean => !isHeld(task) && task.status !== 'queued';
export const tasksOf = (world: World, job: string): Task[] =>
  Object.values(world.tasks).filter((task) => task.job === job);
export const heldBy = (world: World, worker: string): Task[] =>
  Object.values(world.tasks).filter((task) => isHeld(task) && task.worker === worker);
export const holderOf = (world: World, name: string): Worker => world.workers[name] as Worker;
export const freeSlots = (world: World, worker: Worker): number =>
  Math.max(0, worker.slots - heldBy(world, worker.name).length);
