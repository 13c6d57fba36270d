import type { Static } from 'typebox';
import type {
  CallbackActorLogic,
  DoneActorEvent,
  ErrorActorEvent,
  EventObject,
  PromiseActorLogic,
} from 'xstate';
import type { AttemptRef, Lease, Outcome, RunOutput, runMachine } from './run.ts';
import type { WorkerRegistered } from './schema/worker.ts';

/** What the server answered to the registration. */
export type Registration = Static<typeof WorkerRegistered>;

/** Why a request had no success: no answer, a refusal of this program, or a worker that the server forgot. */
export interface Trouble {
  kind: 'unreachable' | 'refused' | 'unknown_worker';
  detail: string;
  /** Seconds after which the server asks to try again. */
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** A task that the server wants stopped; `attempt` null: whichever runs. */
export interface ToCancel {
  task_id: string;
  attempt: number | null;
}

/** Either what was asked for, or the trouble with it. */
export type Answered<T> = { ok: true; value: T } | { ok: false; trouble: Trouble };

export interface RunEntry {
  ref: AttemptRef;
  /** Told to stop by the server; it need not list the task again. */
  stopping: boolean;
}

export interface AgentInput {
  slots: number;
  /** Results that an earlier process saved and could not deliver. */
  saved: { ref: AttemptRef; outcome: Outcome }[];
  /** Seconds that a stopping worker still tries to deliver the results of its last tasks. */
  deliverySeconds: number;
}

export interface AgentContext extends AgentInput {
  /** Null until the first registration of this process. */
  registered: Registration | null;
  runs: Record<string, RunEntry>;
  linkFailures: number;
  leaseFailures: number;
  /** What is wrong with the connection, while it is. */
  trouble: Trouble | null;
  /** Why the program ended by itself: the server refused it at start-up. */
  failure: Trouble | null;
}

export type LinkEvent =
  | { type: 'BEAT' }
  | { type: 'CANCEL'; tasks: ToCancel[] }
  | { type: 'TROUBLE'; trouble: Trouble };

export type AgentEvent =
  | LinkEvent
  /** First: no new lease, running tasks finish. Second: they are stopped. Third: results stay on disk. */
  | { type: 'DRAIN' }
  /** Stops running tasks at once. */
  | { type: 'STOP' }
  | DoneActorEvent<RunOutput>
  | ErrorActorEvent;

export type AgentActors = {
  run: typeof runMachine;
  register: PromiseActorLogic<Answered<Registration>>;
  /** Beats until it is stopped; sends BEAT, CANCEL and TROUBLE. */
  heartbeat: CallbackActorLogic<EventObject, Registration>;
  /** One heartbeat, answered at once. */
  rejoin: PromiseActorLogic<Answered<ToCancel[]>, Registration>;
  /** One lease request; an empty list when there was no work in its time. */
  lease: PromiseActorLogic<Answered<Lease[]>, { registered: Registration; free: number }>;
  /** Has the lease request under way answered now; goes on until it is stopped, as it is with that answer. */
  withdraw: PromiseActorLogic<void, Registration>;
  /** Waits with exponential backoff and jitter; long after a refusal. */
  pause: PromiseActorLogic<
    void,
    { failures: number; trouble: Trouble | null; registered: Registration | null }
  >;
};
