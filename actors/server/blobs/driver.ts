import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { DirectPut } from '../../../machines/schema/direct-upload.ts';

/** Bytes by what they are. */
export interface ObjectBytes {
  sha256: string;
  size_bytes: number;
}

/** What a look at bytes that are said to be damaged found: they are whole, or not there, or were put aside. */
export type SetAside = 'whole' | 'gone' | { found: string; aside: string };

/** Something that lies among objects. */
export interface Listed {
  /** As people are shown it. */
  path: string;
  /** The object that it is, or what was put aside of one; null for what is none. */
  sha256: string | null;
}

/** Why a place elsewhere takes and gives nothing just now. */
export type ObjectTrouble =
  /** It does not answer, or not in time. */
  | 'unreachable'
  /** It does not know the credentials, or they may not do what is needed. */
  | 'refused'
  | 'no_bucket'
  /** It holds no objects of this store. */
  | 'not_ours'
  /** It answers that it cannot. */
  | 'failing';

/** How a place elsewhere is found. */
export interface ObjectSight {
  trouble: ObjectTrouble | null;
  /** Whether it writes only where there is nothing when it is asked so; null where that could not be tried. */
  isConditional: boolean | null;
  /** Seconds by which its clock is ahead of this one, to a second. */
  clockAhead: number;
}

/**
 * Where the bytes of objects lie, each under its SHA-256. It knows nothing of artifacts: what may go, and when, is for
 * `BlobStore` to say, which never asks two things of the same object at once that change it.
 */
export interface ObjectDriver {
  /** The place in words: the bytes of an artifact are missing ... */
  readonly where: string;

  /** Before anything else is asked by a server. @throws StartError where the place cannot be used */
  start(): Promise<void>;

  /** Looks whether it can be used, within seconds; null of a folder. */
  look(): Promise<ObjectSight | null>;

  /** Remembers, across crashes, that nobody knows yet whether an artifact will name these bytes. */
  mark(sha256: string): Promise<void>;
  unmark(sha256: string): Promise<void>;
  /** What is marked. Of a place that finds by other ways what was left: none. */
  marked(): Promise<string[]>;
  /**
   * A page at a time, the objects that have lain there for so long that no upload of them is under way. Of a place
   * with marks: none.
   */
  leftovers(): AsyncIterable<string[]>;

  /** All of a file is written that is to be placed. */
  prepare(file: FileHandle): Promise<void>;
  /**
   * Brings a file to where its bytes belong, so that they are there also after a crash. What lies there stays only
   * where it is known to be whole; what was put aside goes. The file is gone from where it was, or its caller takes
   * it away.
   */
  place(path: string, bytes: ObjectBytes): Promise<void>;
  /** Whether these bytes lie in their place, whole. */
  holds(sha256: string, bytes: Uint8Array): Promise<boolean>;

  /** Whether bytes lie there that are these, as far as the place can tell without giving them. */
  isWhole(bytes: ObjectBytes): Promise<boolean>;
  /** How many bytes lie there; null where nothing does, less than none where what lies there is no file. */
  size(sha256: string): Promise<number | null>;
  /** Bytes `start` to `end`, both included. */
  read(sha256: string, start: number, end: number): Readable;
  /** An address at which somebody else gives the bytes; null where nobody does (`Blobs.addressOf`). */
  addressOf(sha256: string, disposition: string): Promise<string | null>;
  /** How somebody else brings bytes to their place; null where nobody does, or not these (`Blobs.direct`). */
  directPut(bytes: ObjectBytes): Promise<DirectPut | null>;
  /** What a fault of `read` says of the bytes; null where it says nothing of them. */
  lossOf(error: unknown): 'missing' | 'damaged' | null;
  /**
   * The SHA-256 of what lies there, as hex.
   * @param onBytes told of each piece that was read
   */
  hash(sha256: string, onBytes?: (bytes: number) => void): Promise<string>;

  /** Puts what lies there aside, unless a second look finds it whole. */
  setAside(sha256: string): Promise<SetAside>;
  isSetAside(sha256: string): Promise<boolean>;
  /** Removes it, and what was put aside of it. @returns bytes that are gone; null where nothing was there */
  remove(sha256: string): Promise<number | null>;
  /** What was removed is gone also after a crash. */
  settle(hashes: readonly string[]): Promise<void>;

  /** All that lies there, but what an upload that is under way may have brought. */
  list(): AsyncIterable<Listed>;
}
