import type { MessageOf, MessageType, ReplyOf } from '../../../gateway/messages.ts';
import type { ClusterError } from '../../../machines/protocol/errors.ts';
import type { JobPieces } from '../jobs/job-pieces.ts';
import type { ArtifactRow } from '../store/rows.ts';
import type { KeyedJob, Turn } from '../turn/turn.ts';

/** What a message needs in memory before it can be handled. */
export interface Preload {
  jobs?: string[];
  /** Each with its job, and the worker that has or had it. */
  tasks?: string[];
  workers?: string[];
  artifacts?: string[];
  /** The best models of these jobs, with the jobs. */
  bestModelsOf?: string[];
  /** Artifacts that are to be predicted with. */
  models?: string[];
  /** What this task has uploaded. */
  uploadsOf?: string[];
  /** The job that an owner submitted under a key. */
  key?: { owner: string; key: string };
  /** The specifications of these tasks' jobs, where a job pins fingerprints. */
  pinsOf?: string[];
  /** The specifications of these tasks' jobs. */
  piecesOf?: string[];
  /** The specifications of these jobs, where some worker lacks a path. */
  pathsOf?: string[];
}

/** What was preloaded beside cells, for all messages of the turn. */
export interface Preloaded {
  artifacts: Map<string, ArtifactRow>;
  /** By job, the artifact that is its best model; those artifacts are among the others. */
  bestModels: Map<string, string | null>;
  /** Of the models, those that a task has made which ran no code of its submitter. */
  trusted: Set<string>;
  /** Ids of artifacts by the task that uploaded them. */
  uploads: Map<string, Set<string>>;
  /** By `keyOf`. */
  keys: Map<string, KeyedJob>;
  /** Specifications by job id. */
  jobPieces: Map<string, JobPieces>;
}

/** The answer is given later, through `answer`. */
export const WAITING = Symbol('waiting');

export interface HandlerContext<T extends MessageType> {
  turn: Turn;
  preloaded: Preloaded;
  /** For answers that are given later. */
  answer(reply: ReplyOf<T>): void;
  refuse(error: ClusterError): void;
}

type Outcome<T extends MessageType> = ReplyOf<T> | typeof WAITING;

/**
 * One kind of message. `handle` refuses with a `ClusterError` before it changes anything, or changes actors
 * through the turn and returns the answer that is due once the turn is durable. What takes long is done `inSteps`.
 */
export interface Handler<T extends MessageType> {
  preload?(message: MessageOf<T>): Preload;
  handle(message: MessageOf<T>, handling: HandlerContext<T>): Outcome<T> | Promise<Outcome<T>>;
  /** Whether it has a turn to itself, in which what is in memory is what is committed. */
  alone?: boolean;
  /**
   * What becomes of the message when the store cannot commit: `refuse` (503, the default), `wait` for the
   * store a while, or `answer` all the same because the answer promises nothing durable.
   */
  whenStoreFails?: 'refuse' | 'wait' | 'answer';
}

export const keyOf = (owner: string, key: string): string => JSON.stringify([owner, key]);
