import type { Changes } from './changes.ts';
import type { Table } from './columns.ts';
import type { Queries, SqlText } from './sql.ts';

/** Where commits can be made to fail, or to be slow, in tests. */
export interface StoreHooks {
  /** Called before the transaction begins. */
  beforeCommit?(): Promise<void>;
  /** Called before the store is tried, in the place of `beforeCommit` where it is given. */
  beforeProbe?(): Promise<void>;
  /** Called before a session that ended by itself is replaced; what is written meanwhile does so without. */
  beforeRenewal?(): Promise<void>;
  /** Called when the transaction is durable, before anybody is answered. */
  afterCommit?(): Promise<void>;
}

/** What a store takes of the disk of the state directory. */
export interface StoreSize {
  pages: number;
  /** Pages that nothing is in. */
  free: number;
  pageBytes: number;
  /** Whether its file can be made shorter. */
  shrinks: boolean;
}

/**
 * The durable store, as the supervisor and the reads see it (docs/decisions/0030-store-port.md). One server has it at a
 * time. What every driver promises is specified in spec/store/conformance.spec.ts.
 */
export interface Store {
  /** Where it is, for people: a path, or an address without its password. */
  readonly place: string;
  /** Whether other servers may stand by for it. */
  readonly isShared: boolean;
  /** Loads rows for turns. */
  readonly reader: Queries;
  /** Answers the GETs, so that a long list does not hold up a turn. It sees every commit that was answered. */
  readonly queries: Queries;
  /** The same for pages of events. */
  readonly pages: Queries;
  /**
   * Whether it is not known at present if the last commit happened. Nothing can be accepted until that is found out,
   * which the commit waits for.
   */
  readonly isInDoubt: boolean;

  /**
   * Writes everything in one transaction and returns once it is durable. When it rejects, nothing happened; where the
   * connection breaks, it is found out which of the two is so.
   */
  commit(changes: Changes): Promise<void>;
  /** Whether a commit works: writes nothing that anybody reads, durably all the same. */
  probe(): Promise<void>;
  /** @param where what stands behind `WHERE` */
  load<Row>(table: Table<Row>, where: SqlText, ...params: unknown[]): Promise<Row[]>;
  /** The rows whose column has one of the values. */
  loadBy<Row>(table: Table<Row>, column: string, values: readonly (string | number)[]): Promise<Row[]>;
  /** Whether an artifact has this hash, or may have it by another server, which has the store now. */
  names(sha256: string): Promise<boolean>;
  /** Whether bytes are removed by retention when their day is over, and by nobody else. */
  letsGo(sha256: string): Promise<boolean>;
  /** Whether nothing was ever recorded in it. */
  isEmpty(): Promise<boolean>;
  /** Goes on with what else there is to do at the start, and looks beside it whether it is damaged, as far as that goes. */
  checkDuring(meanwhile: Promise<void>): Promise<void>;

  /** What a start came upon, in words for people where it is a fault of the database. */
  faultAtStart(fault: unknown): unknown;
  /** What of it lies beside the artifacts; all zeros where it lies elsewhere. */
  size(): Promise<StoreSize>;
  /** Gives pages that nothing is in back to the disk. */
  shrink(pages: number): Promise<void>;
  /** Bytes by what they are, wherever they lie. */
  bytes(): Promise<Readonly<Record<string, number>>>;
  /** What to do about a fault, where there is more to say than the fault does. */
  adviceOn(fault: unknown): string | null;
  /** Nothing is written any more, so that another server may have it; reads go on. */
  handOver(): Promise<void>;
  /** The server goes down: a commit whose outcome is still not known is given up, and so nobody is told that it happened. */
  endDoubt(): void;
  close(): Promise<void>;
}
