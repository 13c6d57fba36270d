import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { Blobs, BlobWriter, PlacedBytes, StoredBytes } from '../../../gateway/backend.ts';
import { LeaderOnly } from '../../../gateway/leadership.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { DirectPut } from '../../../machines/schema/direct-upload.ts';
import { CHUNK } from '../../shared/file-bytes.ts';
import { Claims } from './claims.ts';
import { DiskSpace, freeBytes } from './disk-space.ts';
import type { ObjectBytes, ObjectDriver } from './driver.ts';
import { isHash } from './paths.ts';
import { toClusterError } from './to-cluster-error.ts';
import { assertSize, Upload } from './upload.ts';
import { DamagedBytesError, verified } from './verify.ts';

export interface BlobOptions {
  stateDir: string;
  /** Where objects lie. */
  driver: ObjectDriver;
  /** Bytes of the largest one. */
  maxBytes: number;
  /** Bytes of the disk that uploads leave free. */
  reserveBytes: number;
  log: Logger;
  /** Whether an artifact of the store has this hash. */
  isNamed(sha256: string): Promise<boolean>;
  /** Whether retention removes these bytes when their day of grace is over; nobody else may. */
  isLeaving(sha256: string): Promise<boolean>;
  /**
   * Whether another server takes and removes objects: what seems damaged or missing here is for that one to judge, which
   * knows what it has just put there, and alone puts something aside.
   */
  readsOnly?: boolean;
  /** Bytes that are free on the disk; a stand-in for tests. */
  free?: (() => Promise<number>) | undefined;
}

/** What became of bytes that were to be removed. */
export interface Removed {
  objects: number;
  bytes: number;
  claimed: string[];
}

/**
 * Content-addressed blobs: uploads under way are files in `uploads/` of the state directory, hashed as they come; where
 * whole ones lie, and are read from, is the driver's.
 */
export class BlobStore implements Blobs {
  readonly #uploads: string;
  readonly #options: BlobOptions;
  readonly #driver: ObjectDriver;
  readonly #claims: Claims;
  readonly #space: DiskSpace;

  constructor(options: BlobOptions) {
    const { stateDir, driver, isNamed, isLeaving, reserveBytes } = options;
    this.#uploads = join(stateDir, 'uploads');
    this.#options = options;
    this.#driver = driver;
    this.#claims = new Claims(driver, isNamed, isLeaving);
    this.#space = new DiskSpace(reserveBytes, options.free ?? (() => freeBytes(this.#uploads)));
  }

  /** Removes what uploads left that were under way when an earlier server died. */
  async start(): Promise<void> {
    await mkdir(this.#uploads, { recursive: true });
    await this.#driver.start();
    for (const sha256 of await this.#driver.marked()) await this.#claims.clear(sha256);
    // Folders are none of its own, such as the `lost+found` of a disk that is mounted there.
    for (const entry of await readdir(this.#uploads, { withFileTypes: true }))
      if (!isHash(entry.name) && !entry.isDirectory())
        await rm(join(this.#uploads, entry.name), { force: true });
  }

  async create(expected = 0): Promise<BlobWriter> {
    const reserved = this.#space.reserve(Math.min(expected, this.#options.maxBytes));
    const space = await reserved.catch(this.#tell);
    const path = join(this.#uploads, randomUUID());
    const { maxBytes, driver } = this.#options;
    try {
      const file = await open(path, 'wx');
      const [claims, tell] = [this.#claims, this.#tell];
      const clear = (bytes: ObjectBytes) => this.#quarantine(bytes);
      return new Upload({ path, file, space, maxBytes, driver, claims, clear, tell });
    } catch (error) {
      space.release();
      return this.#tell(error);
    }
  }

  async place(bytes: Uint8Array): Promise<PlacedBytes> {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const size_bytes = bytes.byteLength;
    if (await this.#claims.adopt(sha256, () => this.#driver.holds(sha256, bytes)).catch(this.#tell)) {
      return { sha256, size_bytes, release: () => this.#claims.release(sha256, false) };
    }
    const upload = await this.create(size_bytes);
    try {
      await upload.write(bytes);
      await upload.finish();
    } catch (error) {
      await upload.abort();
      throw error;
    }
    return { sha256, size_bytes, release: () => upload.abort() };
  }

  async direct(bytes: ObjectBytes): Promise<PlacedBytes | DirectPut | null> {
    assertSize(bytes.size_bytes, this.#options.maxBytes);
    const put = await this.#driver.directPut(bytes);
    if (put === null) return null;
    const { sha256 } = bytes;
    if (!(await this.#claims.adopt(sha256, () => this.#driver.isWhole(bytes), true))) return put;
    return { ...bytes, release: () => this.#claims.release(sha256, false) };
  }

  async assertWhole(bytes: StoredBytes): Promise<void> {
    const size = await this.#driver.size(bytes.sha256).catch(this.#tell);
    if (size === bytes.size_bytes) return;
    if (this.#options.readsOnly) throw new LeaderOnly();
    if (size !== null) await this.#quarantine(bytes);
    throw await this.#lost(bytes);
  }

  /**
   * Removes objects, so that they are gone also after a crash of the machine: but those that an artifact names, or an
   * upload that is under way.
   * @returns how many were removed, and their bytes; and of which it is not known yet whether they stay, since an upload
   *   has them
   */
  async remove(hashes: readonly string[]): Promise<Removed> {
    const removed: Removed = { objects: 0, bytes: 0, claimed: [] };
    const gone: string[] = [];
    for (const sha256 of hashes) {
      const bytes = await this.#claims.remove(sha256);
      if (bytes === 'claimed') removed.claimed.push(sha256);
      if (bytes === 'claimed' || bytes === null) continue;
      removed.objects++;
      removed.bytes += bytes;
      gone.push(sha256);
    }
    await this.#driver.settle(gone);
    return removed;
  }

  /** The objects that lie there for so long that nobody is about to have them named; a page at a time. */
  leftovers(): AsyncIterable<string[]> {
    return this.#driver.leftovers();
  }

  addressOf({ sha256 }: StoredBytes, disposition: string): Promise<string | null> {
    return this.#driver.addressOf(sha256, disposition);
  }

  read(bytes: StoredBytes, start: number, end: number): Readable {
    const source = this.#driver.read(bytes.sha256, start, end);
    const isWhole = start === 0 && end === bytes.size_bytes - 1;
    const pieces = this.#withArtifactLost(isWhole ? verified(source, bytes) : source, bytes);
    const stream = Readable.from(pieces, { objectMode: false, highWaterMark: CHUNK });
    // Not only when its next piece is asked for.
    stream.once('close', () => source.destroy());
    return stream;
  }

  /** What turns out to be damaged or missing is told as an error of the protocol (docs/protocol.md#artifacts). */
  async *#withArtifactLost(
    pieces: AsyncIterable<Buffer>,
    bytes: StoredBytes,
  ): AsyncGenerator<Buffer, void, void> {
    try {
      yield* pieces;
    } catch (error) {
      const loss = error instanceof DamagedBytesError ? 'damaged' : this.#driver.lossOf(error);
      if (loss === null) this.#tell(error);
      if (this.#options.readsOnly) throw new LeaderOnly();
      if (loss === 'damaged' && !(await this.#quarantine(bytes))) throw error;
      throw await this.#lost(bytes);
    }
  }

  /**
   * Puts the bytes of an object aside, unless a second look finds them good: they may have been replaced since, or
   * read wrongly. Whether they are gone then.
   */
  #quarantine({ sha256 }: ObjectBytes): Promise<boolean> {
    return this.#claims.alone(sha256, async () => {
      const outcome = await this.#driver.setAside(sha256);
      if (outcome === 'whole') return false;
      if (outcome !== 'gone')
        this.#options.log.error(
          { sha256, ...outcome },
          'the bytes of an object are damaged and were put aside; uploading the same bytes mends it; look for more with: jq-server check',
        );
      return true;
    });
  }

  /** Throws a fault of the disk as clients see it; what it was, and of which file, is for the log. */
  readonly #tell = (error: unknown): never => {
    const told = toClusterError(error);
    if (told !== error && told instanceof ClusterError && told.code === 'objects_unavailable')
      this.#options.log.error({ err: error }, 'the disk of the artifacts cannot be used');
    throw told;
  };

  async #lost({ id, sha256 }: StoredBytes): Promise<ClusterError> {
    const what = (await this.#driver.isSetAside(sha256)) ? 'were damaged' : 'are missing';
    const why = `${what} ${this.#driver.where}`;
    this.#options.log.error({ artifact: id, sha256 }, `the bytes of an artifact ${why}`);
    return new ClusterError(
      'artifact_lost',
      `the bytes of artifact '${id}' (sha256 ${sha256}) ${why}; uploading the same bytes again mends it`,
    );
  }
}
