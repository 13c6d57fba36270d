import type { RawJson } from '../machines/json/raw.ts';
import type { Principal } from '../machines/protocol/rights.ts';
import type { EventDigest, ResultDigest } from '../machines/report/digest.ts';
import type { JobChange } from '../machines/schema/job-change.ts';
import type { TaskPayload } from '../machines/schema/lease.ts';
import type { FailReport } from '../machines/schema/report.ts';
import type {
  ArtifactUploaded,
  JobStatus,
  JobView,
  PauseView,
  TaskStatus,
} from '../machines/schema/views.ts';
import type { ActiveTask, HeartbeatReply, WorkerRegistration } from '../machines/schema/worker.ts';
import type { JobDigest } from '../machines/submission/job-digest.ts';
import type { Leaving } from '../machines/worker/worker.ts';

/** A worker's report on one task; `attempt` fences (docs/semantics.md#reports-and-fencing). */
export interface Report {
  principal: Principal;
  task_id: string;
  worker_id: string;
  attempt?: number;
}

/** A file of an attempt whose bytes are in the blob store already. */
export interface TaskFile {
  role: string;
  kind: string;
  filename: string | null;
  sha256: string;
  size_bytes: number;
}

/** What a worker asks for itself; with `session`, only the program of its newest registration may. */
interface InSession {
  principal: Principal;
  worker_id: string;
  session?: number | undefined;
}

/** Aborted when the client went away while its answer was being prepared. */
interface Waiting {
  signal?: AbortSignal;
}

/** What the gateway may ask of the supervisor, each with the answer it gets once the change is durable. */
export interface Messages {
  submit_job: {
    in: {
      principal: Principal;
      job: JobDigest;
      /** Whether it may bring a model that is code; absent: no. */
      allow_code?: boolean | undefined;
    };
    out: Submitted;
  };
  /** Refuses what `submit_job` would refuse of what the job names, and changes nothing. */
  check_job: { in: { job: JobDigest; allow_code?: boolean | undefined }; out: Done };
  cancel_job: { in: { principal: Principal; job_id: string }; out: { job_id: string } };
  /** Without `task_ids`: all failed tasks of the job. */
  retry_job: {
    in: { principal: Principal; job_id: string; task_ids?: string[] | undefined };
    out: { job_id: string };
  };
  /** Nothing more of it is leased; what runs goes on. */
  pause_queue: { in: { principal: Principal } & PauseScope; out: { paused: PauseView[] } };
  resume_queue: { in: { principal: Principal } & PauseScope; out: { paused: PauseView[] } };
  cancel_task: { in: { principal: Principal; task_id: string }; out: TaskMoved };
  /** It is taken from the worker that has it, and no attempt is spent. */
  requeue_task: { in: { principal: Principal; task_id: string }; out: TaskMoved };
  /** What is left out stays as it is. */
  change_job: { in: { principal: Principal; job_id: string; change: JobChange }; out: { job_id: string } };
  /** A dry run says what would happen, or why it would not. It is deleted only if it is as whoever chose it saw it. */
  delete_job: {
    in: {
      principal: Principal;
      job_id: string;
      dry_run: boolean;
      status?: JobStatus | undefined;
      /** Seconds since the epoch. */
      ended_before?: number | undefined;
    };
    out: { id: string; deleted: boolean; num_tasks: number };
  };
  register_worker: {
    in: { principal: Principal; registration: WorkerRegistration };
    out: { worker_id: string; heartbeat_interval_s: number; lease_ttl_s: number; session: number };
  };
  /** After `timeout_s` what the worker still has is taken back; absent: never. */
  drain_worker: {
    in: { principal: Principal; worker_id: string; timeout_s?: number | undefined };
    out: { worker_id: string };
  };
  resume_worker: { in: { principal: Principal; worker_id: string }; out: { worker_id: string } };
  remove_worker: { in: { principal: Principal; worker_id: string }; out: { worker_id: string } };
  heartbeat: {
    in: InSession & {
      active?: ActiveTask[] | undefined;
      wait_s: number;
      /** Why it asks for no tasks at present. */
      suspended?: string | undefined;
      /** It was told to end. */
      leaving?: Leaving | undefined;
    } & Waiting;
    out: HeartbeatReply;
  };
  lease: {
    in: InSession & { wait_s: number; max_tasks: number } & Waiting;
    /** `handedOut` is to be called when the tasks have been read, or will not be: until then they take memory. */
    out: { tasks: LeasedTask[]; handedOut?: (() => void) | undefined };
  };
  /** The answer of a lease never reached the socket. */
  lease_undelivered: { in: { worker_id: string; tasks: { task_id: string; attempt: number }[] }; out: Done };
  start_task: { in: Report; out: Done };
  complete_task: { in: Report & { result: ResultDigest; files?: TaskFile[] }; out: Done };
  fail_task: {
    in: Report & { failure: FailReport; files?: TaskFile[] };
    out: { ok: boolean; requeued: boolean };
  };
  report_events: {
    in: {
      principal: Principal;
      task_id: string;
      worker_id?: string | undefined;
      attempt?: number;
      events: EventDigest[];
    };
    out: Done;
  };
  /** The bytes are in the blob store already; this records them. */
  record_artifact: {
    in: {
      principal: Principal;
      sha256: string;
      size_bytes: number;
      kind: string;
      filename: string | null;
      task?: { task_id: string; role: string; worker_id?: string | undefined; attempt?: number | undefined };
    };
    out: ArtifactUploaded;
  };
  /** A compatible peer of another package version; noted once per (role, version). */
  note_peer: { in: { role: string; version: string }; out: Done };
}

/** A job was submitted; `view` is null when it was before, under the same key: then it may have grown long. */
export interface Submitted {
  job_id: string;
  view: JobView | null;
}

/** A leased task: the payload as text (numbers as written) and what identifies the lease. */
export interface LeasedTask {
  task_id: string;
  attempt: number;
  payload: RawJson;
}

export type { TaskPayload };

/** What is paused; the name is that of a type or an owner. */
type PauseScope = Pick<PauseView, 'kind' | 'name'>;

/** Where a task stands after what was asked for it. */
export interface TaskMoved {
  task_id: string;
  job_id: string;
  status: TaskStatus;
}

interface Done {
  ok: boolean;
}

export type MessageType = keyof Messages;
export type MessageOf<T extends MessageType> = { type: T } & Messages[T]['in'];
export type ReplyOf<T extends MessageType> = Messages[T]['out'];
export type Message = { [T in MessageType]: MessageOf<T> }[MessageType];
