import type { Static } from 'typebox';
import type {
  CallbackActorLogic,
  DoneActorEvent,
  ErrorActorEvent,
  EventObject,
  PromiseActorLogic,
} from 'xstate';
import type {
  AttemptOutput,
  AttemptRef,
  AttemptSaved,
  attemptMachine,
  Lease,
  Outcome,
} from '../attempt/attempt.ts';
import type { WorkerRegistered } from '../schema/worker.ts';

/** What the server answered to the registration. */
export type Registration = Static<typeof WorkerRegistered>;

/**
 * Why a request had no success: no answer, a refusal of this program, a worker that the server forgot, or one as which
 * another program has registered since.
 */
export interface LinkError {
  kind: 'unreachable' | 'refused' | 'unknown_worker' | 'superseded';
  detail: string;
  /** Of `superseded`: the session of the request. */
  session?: number | undefined;
  /** Seconds after which the server asks to try again. */
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** A task that the server wants stopped; `attempt` null: whichever runs. */
export interface ToCancel {
  task_id: string;
  attempt: number | null;
}

/** Either what was asked for, or why it was not obtained. */
export type Result<T> = { ok: true; value: T } | { ok: false; linkError: LinkError };

export interface AttemptEntry {
  ref: AttemptRef;
  /** Its actor's name, which a later one has again: XState keeps something of each name that it has ever heard. */
  actor: string;
  /** Taken up from an earlier process: only its result is to be delivered. */
  saved: boolean;
  /** Told to stop by the server; it need not list the task again. */
  stopping: boolean;
  /** Nothing of it runs any more: its outcome is being delivered, and takes no slot. */
  delivering: boolean;
}

export interface AgentInput {
  slots: number;
  /** Results that an earlier process saved and could not deliver. */
  saved: { ref: AttemptRef; outcome: Outcome }[];
  /** Seconds that a stopping worker still tries to deliver the results of its last tasks. */
  deliverySeconds: number;
  /** What it does about its end by itself. */
  ending: Ending;
}

/** When a worker ends by itself, or gives back what it runs; null: never. */
export interface Ending {
  /** Seconds in which what runs may finish, once the program has been told to end. */
  noticeSeconds: number | null;
  /** From when on it takes no more tasks; seconds since the epoch. */
  drainsAt: number | null;
  /** When it gives back what still runs; seconds since the epoch. */
  givesBackAt: number | null;
  /** Seconds after which it ends, should it have nothing to do. */
  idleSeconds: number | null;
}

/** A time to wait for: after so many seconds, or at a moment in seconds since the epoch, whichever comes first. */
export interface Notice {
  seconds: number | null;
  at: number | null;
}

export interface AgentContext extends AgentInput {
  /** Null until the first registration of this process. */
  registered: Registration | null;
  runs: Record<string, AttemptEntry>;
  linkFailures: number;
  leaseFailures: number;
  /** What is wrong with the connection, while it is. */
  linkError: LinkError | null;
  /** Why the program ended by itself: the server refused it at start-up. */
  failure: LinkError | null;
  /** Faults of this worker itself since its last success. */
  faults: number;
  /** Looks at itself since its last success. */
  selfTests: number;
  /** Why it asks for no tasks at present, in a sentence; null while it does. */
  suspended: string | null;
  /** It has slept, and not been heard by the server since. */
  woken: boolean;
  /** It was told to end, without a notice. */
  retiring: boolean;
}

export type LinkEvent =
  | { type: 'BEAT' }
  | { type: 'CANCEL'; tasks: ToCancel[] }
  | { type: 'LINK_ERROR'; linkError: LinkError };

export type AgentEvent =
  | LinkEvent
  /** First: no new lease, running tasks finish. Second: they are given back. Third: results stay on disk. */
  | { type: 'DRAIN' }
  /** Gives running tasks back at once. */
  | { type: 'STOP' }
  /** No new lease; what runs has all the time that it needs, as long as the program's own end allows. */
  | { type: 'RETIRE' }
  /** The program stood still for a while, with its machine or by itself: its leases may have expired. */
  | { type: 'WOKE' }
  | AttemptSaved
  | DoneActorEvent<AttemptOutput>
  | ErrorActorEvent;

export type AgentActors = {
  run: typeof attemptMachine;
  register: PromiseActorLogic<Result<Registration>>;
  /** Beats until it is stopped, the first time answered at once if need be; sends BEAT, CANCEL and LINK_ERROR. */
  heartbeat: CallbackActorLogic<EventObject, { registered: Registration; atOnce: boolean }>;
  /** One heartbeat, answered at once. */
  rejoin: PromiseActorLogic<Result<ToCancel[]>, Registration>;
  /** One lease request; an empty list when there was no work in its time. */
  lease: PromiseActorLogic<Result<Lease[]>, { registered: Registration; free: number }>;
  /** Has the lease request under way answered now; goes on until it is stopped, as it is with that answer. */
  withdraw: PromiseActorLogic<void, Registration>;
  /** Gives up the worker's id for good. */
  forgetIdentity: PromiseActorLogic<void>;
  /** Resolves when that time has come; never where there is none. */
  notice: PromiseActorLogic<void, Notice>;
  /** Waits before a look at itself, longer with each. */
  recover: PromiseActorLogic<void, { selfTests: number }>;
  /** Looks whether this worker can work; gives what is wrong, null when nothing is. */
  selfTest: PromiseActorLogic<string | null>;
  /** Waits with exponential backoff and jitter; long after a refusal. */
  pause: PromiseActorLogic<
    void,
    { failures: number; linkError: LinkError | null; registered: Registration | null }
  >;
};
