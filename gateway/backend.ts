import type { Readable } from 'node:stream';
import type { MachineName } from '../machines/charts/names.ts';
import type { RawJson } from '../machines/json/raw.ts';
import type { DemandView } from '../machines/schema/demand.ts';
import type { DirectPut } from '../machines/schema/direct-upload.ts';
import type { TypeEnding } from '../machines/schema/job-types.ts';
import type { ServersView } from '../machines/schema/servers.ts';
import type {
  ClusterStats,
  EventView,
  StatsMinute,
  TaskStatus,
  WorkerStatus,
} from '../machines/schema/views.ts';
import type { MessageOf, MessageType, ReplyOf } from './messages.ts';
import type { Metrics } from './metrics/metrics.ts';

/**
 * A text, JSON unless it is said otherwise, that is read from the store while it is taken: in order, each piece when
 * it is asked for, so that no more than a few pages of it are ever in memory. What throws before the first piece
 * is an answer of its own; what throws later leaves the text incomplete. Lists that change while they are read may
 * show what came meanwhile or not; no entry is torn or comes twice.
 */
export type Pieces = AsyncIterable<Piece>;
/** A part of a text, or its bytes in UTF-8 where the store gives them: then nobody makes a text of them, to make bytes of that again. */
export type Piece = string | Buffer;

/** The queries behind the GETs. Unknown ids throw `ClusterError` with code `unknown_id`. */
export interface Reads {
  /** `JobView`s without ranking and errors, newest first. */
  jobs(query: JobQuery): Pieces;
  /** A `JobView` with the best of its ranking, and its first errors. */
  job(id: string): Pieces;
  /** The specification as it was submitted. */
  jobRequest(id: string): Pieces;
  /** `TaskView`s of a job, in order. */
  tasks(query: TaskQuery): Pieces;
  /** The succeeded tasks of a job, best first. */
  ranking(query: RankingQuery): Pieces;
  /** Events after `after_id`, oldest first; of one job (which must exist), or of all. */
  eventList(query: EventQuery): Pieces;
  /** The same, as many as make a page; what is beyond the limits (docs/protocol.md#limits) is cut. */
  events(query: EventQuery): Promise<EventPage>;
  /** The id before the last `count` events of the whole server; 0 when there are fewer. */
  eventIdBefore(count: number): Promise<number>;
  /** `ArtifactView`s of a job, or of one of its tasks. */
  jobArtifacts(query: { job_id: string; task_id?: string | undefined }): Pieces;
  artifact(id: string): Promise<StoredArtifact>;
  stats(): Promise<ClusterStats>;
  statsHistory(): Promise<StatsMinute[]>;
  /** The servers that are there, and which of them leads. */
  servers(): Promise<ServersView>;
  /** What is wanted of workers. */
  demand(): Promise<DemandView>;
  /** `WorkerView`s of all that registered, or of those in a status. */
  workers(status?: WorkerStatus): Pieces;
  /** A `WorkerView`. */
  worker(id: string): Pieces;
  /** State ids of a machine, such as `task.running.executing`, to how many actors are in them now. */
  stateCounts(machine: MachineName): Promise<Record<string, number>>;
  /** A job, task or worker as its machine sees it. */
  actor(machine: MachineName, id: string): Promise<ActorState>;
  /** Throws unless the task exists. */
  assertTask(id: string): Promise<void>;
}

/** What a statechart knows of one of its actors; long texts are cut. */
export interface ActorState {
  /** The state as XState has it: `queued`, `{ running: 'executing' }`. */
  value: unknown;
  context: Record<string, unknown>;
}

export interface JobQuery {
  status?: string;
  /** In any part of the name, whatever its case. */
  name?: string;
  /** What a person wrote for a job; see `readReference`. */
  ref?: string;
  /** The principal that submitted it. */
  owner?: string;
  /** The job of which they are repeated or changed submissions. */
  resubmitted_from?: string;
  /** Any of these. */
  types?: readonly string[];
  /** Any that ends so, where no `types` are given. */
  kind?: TypeEnding;
  /** All of these. */
  tags?: readonly string[];
  limit: number;
  /** Seconds since the epoch. */
  created_from?: number;
  created_before?: number;
}

export interface TaskQuery {
  job_id: string;
  status?: TaskStatus | undefined;
  /** Only tasks behind this one of the job. */
  after_id?: string | undefined;
  /** Absent: all. */
  limit?: number | undefined;
}

export interface RankingQuery {
  job_id: string;
  /** Entries that are passed over. */
  offset?: number | undefined;
  /** Absent: all. */
  limit?: number | undefined;
  /** A table of comma-separated values instead of JSON. */
  csv: boolean;
}

/** Events, and whether there may be more behind them. */
export interface EventPage {
  events: EventView[];
  more: boolean;
}

export interface EventQuery {
  job_id?: string;
  /** Only of this task; with `job_id` alone. */
  task_id?: string | undefined;
  after_id: number;
  /** Events below this id: the last `limit` of them rather than the first, still oldest first. */
  before_id?: number | undefined;
  limit: number;
}

/** The bytes of an artifact, as they were stored. */
export interface StoredBytes {
  /** Of the artifact. */
  id: string;
  sha256: string;
  size_bytes: number;
}

export interface StoredArtifact extends StoredBytes {
  kind: string;
  filename: string | null;
}

/** One upload on its way to disk. */
export interface BlobWriter {
  /** Resolves when the store wants more. Rejects with `no_room`, or `artifact_too_large` past the limit. */
  write(chunk: Uint8Array): Promise<void>;
  /** Makes the bytes durable under their hash; equal bytes are kept once. */
  finish(): Promise<{ sha256: string; size_bytes: number }>;
  /** After `finish`: an artifact names the bytes now, so they stay. */
  keep(): Promise<void>;
  /** Leaves nothing behind, after `finish` as well: only bytes that an artifact names stay. Safe at any time. */
  abort(): Promise<void>;
}

/** Bytes that lie durably under their hash, for an artifact that is to name them. */
export interface PlacedBytes {
  readonly sha256: string;
  readonly size_bytes: number;
  /** It is known what became of them: they stay where an artifact names them, and only there. */
  release(): Promise<void>;
}

export interface Blobs {
  /**
   * Makes a few bytes durable at once; those that lie there, and whole, are not written again.
   * @throws ClusterError `no_room`, `artifact_too_large`
   */
  place(bytes: Uint8Array): Promise<PlacedBytes>;
  /**
   * @param expected bytes that will come at most, for which room is kept; 0 where nobody knows
   * @throws ClusterError `no_room`
   */
  create(expected?: number): Promise<BlobWriter>;
  /**
   * How bytes that somebody has become an artifact without the server: those that lie where they belong, whole, are his as
   * if he had brought them now; of others it says how they come there. Null where it has to be through `create`.
   * @throws ClusterError `artifact_too_large`, `objects_unavailable`
   */
  direct(bytes: Pick<StoredBytes, 'sha256' | 'size_bytes'>): Promise<PlacedBytes | DirectPut | null>;
  /** @throws ClusterError `artifact_lost` when the bytes are not there, or not as many as they were */
  assertWhole(bytes: StoredBytes): Promise<void>;
  /**
   * An address at which somebody else gives the bytes, whole or in ranges, to whoever has it, for some minutes; null where
   * nobody does.
   * @param disposition what its answers say in `Content-Disposition`
   */
  addressOf(bytes: StoredBytes, disposition: string): Promise<string | null>;
  /**
   * Bytes `start` to `end`, both included. When that is all of them they are verified on the way: the stream fails
   * before its last piece with `artifact_lost` when they are damaged, and so does whoever asks next.
   */
  read(bytes: StoredBytes, start: number, end: number): Readable;
}

/** An event as it was committed; data that a worker reported is still text. */
export type LiveEvent = Omit<EventView, 'data'> & { readonly data: Readonly<EventView['data']> | RawJson };

/** Committed events in commit order, for the WebSocket streams. */
export interface EventSource {
  /** The id of the last event handed to subscribers. */
  readonly lastId: number;
  /** The id of the last event that is committed, though it may not have been handed to anybody yet. */
  latest(): Promise<number>;
  /** Calls back after each commit with its events; returns the way to stop. */
  subscribe(listener: (events: LiveEvent[]) => void): () => void;
}

/** What an actor did, or that it is there; made into text only when somebody takes it. */
export interface Inspected {
  /** The actor that it is about. */
  readonly actorId: string;
  /** An `InspectionMessage` as JSON. */
  readonly text: string;
}

/** What the actors do, told after the commit; costs nothing while nobody watches. */
export interface InspectionSource {
  /**
   * Watches one actor, or all that are in motion. The first call brings the actors as they are, each further one
   * what a turn did. Resolves to the way to stop, which may be used more than once; rejects with `unknown_id`.
   */
  watch(actorId: string | undefined, listener: (messages: readonly Inspected[]) => void): Promise<() => void>;
}

/** All that the gateway needs of the floor above it. */
export interface Backend {
  /** Resolves once the change is durable; rejects with `ClusterError`. */
  send<T extends MessageType>(message: MessageOf<T>): Promise<ReplyOf<T>>;
  readonly reads: Reads;
  readonly blobs: Blobs;
  readonly events: EventSource;
  readonly inspection: InspectionSource;
  /** What is told to who watches the server from outside; the gateway adds its own. */
  readonly metrics: Metrics;
  /** The supervisor's: `serving` where it has recovered and commits. */
  readonly state: string;
}
