import type { FaultClass } from '../schema/report.ts';

/** What a worker says of an attempt at a task, and which attempt. */
export interface TaskReport {
  worker_id: string;
  attempt: number;
  verb: 'start' | 'complete' | 'fail';
}

/**
 * The last report that was accepted, so that its repetition gets the same answer
 * (docs/semantics.md#reports-and-fencing).
 */
export interface AcceptedReport extends TaskReport {
  answer: { ok: boolean; requeued?: boolean };
}

export interface TaskContext extends RankValues {
  id: string;
  job_id: string;
  /** Counts leases; a report of an earlier attempt is refused, so it never goes back once a worker saw it. */
  attempt: number;
  max_attempts: number;
  /** Seconds that a failed task waits after its first attempt; doubled with each further one that counts. */
  backoff_seconds: number;
  /** Seconds since the epoch before which it is not leased again. */
  not_before: number | null;
  /** How many faults of workers it has met. */
  worker_faults: number;
  /** How many of its attempts an operator took back, or their workers gave back. */
  take_backs: number;
  /** Registrations of workers that reported such a fault for it, oldest first; they do not get it again. */
  avoids: string[];
  worker_id: string | null;
  /** Seconds since the epoch; for people: the running deadline is kept on a monotonic clock. */
  lease_expires_at: number | null;
  started_at: number | null;
  error: string | null;
  /** The task result as JSON text, once succeeded. */
  result: string | null;
  /** Whose result it is, where it was not computed for this task. */
  reused_from: ReusedFrom | null;
  model_artifact_id: string | null;
  last_report: AcceptedReport | null;
}

/** A task that computed what another one is answered with. */
export interface ReusedFrom {
  job_id: string;
  task_id: string;
}

/** What a result has of the metrics that its job may rank by. */
export interface RankValues {
  /** Of the first of them; null where the result has no finite number for it. */
  rank_value: number | null;
  /** Of those behind the first. */
  rank_others: readonly (number | null)[];
}

export type TaskEvent =
  | { type: 'LEASE'; worker_id: string; lease_expires_at: number }
  /** The lease's answer never reached its worker: back to its place, and no attempt is spent. */
  | { type: 'UNDELIVERED' }
  /** An operator takes it from its worker: back to its place, and no attempt is spent. */
  | { type: 'TAKE_BACK' }
  | { type: 'START'; now: number; report: TaskReport }
  | ({
      type: 'COMPLETE';
      result: string;
      /** Of the result, a JSON object as text. */
      metrics: string;
      model_artifact_id: string | null;
      report: TaskReport;
    } & RankValues)
  /** The result that an equal task has computed before. */
  | ({
      type: 'REUSED';
      result: string;
      /** Of the result, a JSON object as text. */
      metrics: string;
      model_artifact_id: string | null;
      reused_from: ReusedFrom;
    } & RankValues)
  | ({ type: 'FAIL'; now: number; report: TaskReport } & Failure)
  /** Its worker has to end, and gives it back: to its place, and no attempt is spent. */
  | { type: 'GIVE_BACK'; report: TaskReport }
  /** The lease expired without a sign of life. */
  | { type: 'LEASE_EXPIRED' }
  /** The server ends an attempt whose worker did not enforce the timeout itself. */
  | { type: 'TIMEOUT'; now: number; error: string }
  /** It waits, and of the workers that live none is left that could run it. */
  | { type: 'GIVE_UP'; error: string }
  | { type: 'CANCEL' }
  /** A person asks for more attempts of a failed task. */
  | { type: 'RETRY'; extra_attempts: number };

/** What a worker says of an attempt that failed (docs/semantics.md#faults-and-attempts). */
export interface Failure {
  error: string;
  traceback?: string | undefined;
  retriable: boolean;
  fault: FaultClass;
  /** Of a worker's fault: the path that is missing there. */
  missing_path?: string | undefined;
  /** The registration of the worker that reports. */
  by: string;
  /** Whether another live worker could run the task. */
  elsewhere: boolean;
}

/** Why a worker does not hold a task any more. */
export type LeaseEnd =
  /** The worker said how the attempt ended. */
  | 'reported'
  /** No sign of life came in time. */
  | 'expired'
  /** Its answer never reached the worker. */
  | 'undelivered'
  /** A person cancelled the job before the attempt was started. */
  | 'cancelled'
  /** The server ended the attempt, which took too long. */
  | 'timed_out'
  /** An operator took it from its worker. */
  | 'taken_back';

/** Why a task went back to the queue; `preempted`: its worker had to end, and gave it back. */
export type RequeueReason = 'failure' | 'lease_lapsed' | 'undelivered' | 'taken_back' | 'preempted' | 'retry';

/** What happened to a task. That its status changed, and from which, whoever runs the machine sees. */
export type TaskEmission =
  | { type: 'lease_started'; worker_id: string }
  | { type: 'lease_ended'; worker_id: string; why: LeaseEnd }
  /** Its worker is to end the attempt. */
  | { type: 'stop_requested' }
  | { type: 'task_leased' }
  | { type: 'task_started' }
  | ({
      type: 'task_completed';
      /** A JSON object as text. */
      metrics: string;
      model_artifact_id: string | null;
    } & RankValues)
  | ({
      type: 'task_reused';
      /** A JSON object as text. */
      metrics: string;
      model_artifact_id: string | null;
      reused_from: ReusedFrom;
    } & RankValues)
  | {
      type: 'task_failed';
      error: string;
      retriable: boolean;
      requeued: boolean;
      fault: FaultClass;
      missing_path?: string;
      traceback?: string;
    }
  | { type: 'task_lost' }
  | { type: 'task_requeued'; reason: RequeueReason }
  | { type: 'task_cancelled' };
