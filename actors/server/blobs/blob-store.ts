import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { Blobs, BlobWriter, PlacedBytes, StoredBytes } from '../../../gateway/backend.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { Claims } from './claims.ts';
import { DiskSpace, freeBytes } from './disk-space.ts';
import { syncFolder } from './durable.ts';
import { damagedPath, isHash, objectPath } from './paths.ts';
import { toClusterError, Upload } from './upload.ts';
import { CHUNK, DamagedBytesError, hashOf, verified } from './verify.ts';

export interface BlobOptions {
  stateDir: string;
  /** Bytes of the largest one. */
  maxBytes: number;
  /** Bytes of the disk that uploads leave free. */
  reserveBytes: number;
  log: Logger;
  /** Whether an artifact of the store has this hash. */
  isNamed(sha256: string): Promise<boolean>;
  /** Whether retention removes these bytes when their day of grace is over; nobody else may. */
  isLeaving(sha256: string): Promise<boolean>;
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
 * Content-addressed blobs on disk: `objects/aa/bb/<sha256>`, uploads under way in `uploads/`. Bytes that lie in
 * their place before an artifact names them have a mark, an empty file `uploads/<sha256>`, so that they are found
 * and removed should the server die in between. Bytes that were found damaged are put aside as `<sha256>.damaged`.
 */
export class BlobStore implements Blobs {
  readonly #root: string;
  readonly #options: BlobOptions;
  readonly #claims: Claims;
  readonly #space: DiskSpace;

  constructor(options: BlobOptions) {
    const { stateDir, isNamed, isLeaving, reserveBytes } = options;
    this.#root = stateDir;
    this.#options = options;
    this.#claims = new Claims(stateDir, isNamed, isLeaving);
    this.#space = new DiskSpace(reserveBytes, options.free ?? (() => freeBytes(join(stateDir, 'uploads'))));
  }

  /** Removes what uploads left that were under way when an earlier server died. */
  async start(): Promise<void> {
    const folder = join(this.#root, 'uploads');
    await mkdir(folder, { recursive: true });
    await mkdir(join(this.#root, 'objects'), { recursive: true });
    for (const name of await readdir(folder)) {
      if (isHash(name)) await this.#claims.clear(name);
      else await rm(join(folder, name), { force: true });
    }
  }

  async create(expected = 0): Promise<BlobWriter> {
    const space = await this.#space.reserve(Math.min(expected, this.#options.maxBytes));
    const path = join(this.#root, 'uploads', randomUUID());
    try {
      const file = await open(path, 'wx');
      return new Upload({ path, file, space, maxBytes: this.#options.maxBytes, claims: this.#claims });
    } catch (error) {
      space.release();
      throw toClusterError(error);
    }
  }

  async place(bytes: Uint8Array): Promise<PlacedBytes> {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const size_bytes = bytes.byteLength;
    if (await this.#claims.adopt(sha256, () => this.#holds(sha256, bytes))) {
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

  /** Whether an object is there and has these bytes. */
  async #holds(sha256: string, bytes: Uint8Array): Promise<boolean> {
    const path = join(this.#root, objectPath(sha256));
    const found = await stat(path).catch(notThere);
    if (found?.size !== bytes.byteLength) return false;
    return bytes.byteLength === 0 || (await readFile(path)).equals(bytes);
  }

  async assertWhole(bytes: StoredBytes): Promise<void> {
    const found = await stat(join(this.#root, objectPath(bytes.sha256))).catch(notThere);
    if (found?.size === bytes.size_bytes) return;
    if (found) await this.#quarantine(bytes);
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
    const folders = new Set<string>();
    for (const sha256 of hashes) {
      const bytes = await this.#claims.remove(sha256);
      if (bytes === 'claimed') removed.claimed.push(sha256);
      if (bytes === 'claimed' || bytes === null) continue;
      removed.objects++;
      removed.bytes += bytes;
      folders.add(dirname(join(this.#root, objectPath(sha256))));
    }
    for (const folder of folders) await syncFolder(folder);
    return removed;
  }

  read(bytes: StoredBytes, start: number, end: number): Readable {
    const path = join(this.#root, objectPath(bytes.sha256));
    const source = createReadStream(path, { start, end, highWaterMark: CHUNK });
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
      const { code } = error as NodeJS.ErrnoException;
      if (!(error instanceof DamagedBytesError) && code !== 'EIO' && code !== 'ENOENT') throw error;
      if (code !== 'ENOENT' && !(await this.#quarantine(bytes))) throw error;
      throw await this.#lost(bytes);
    }
  }

  /**
   * Puts the bytes of an object aside, unless a second look finds them good: they may have been replaced since, or
   * read wrongly. Whether they are gone then.
   */
  #quarantine({ sha256 }: StoredBytes): Promise<boolean> {
    const [path, aside] = [join(this.#root, objectPath(sha256)), join(this.#root, damagedPath(sha256))];
    return this.#claims.alone(sha256, async () => {
      // What cannot be read is as good as damaged.
      const found = await hashOf(path).catch((fault: NodeJS.ErrnoException) => fault.code ?? fault.message);
      if (found === sha256) return false;
      if (found === 'ENOENT') return true;
      await rename(path, aside);
      await syncFolder(join(path, '..'));
      this.#options.log.error(
        { sha256, found, aside },
        'the bytes of an object are damaged and were put aside; uploading the same bytes mends it; look for more with: jq-server check',
      );
      return true;
    });
  }

  async #lost({ id, sha256 }: StoredBytes): Promise<ClusterError> {
    const damaged = await stat(join(this.#root, damagedPath(sha256))).catch(notThere);
    const why = damaged ? 'were damaged on the disk of the server' : 'are missing on the disk of the server';
    this.#options.log.error({ artifact: id, sha256 }, `the bytes of an artifact ${why}`);
    return new ClusterError(
      'artifact_lost',
      `the bytes of artifact '${id}' (sha256 ${sha256}) ${why}; uploading the same bytes again mends it`,
    );
  }
}

function notThere(fault: NodeJS.ErrnoException): null {
  if (fault.code === 'ENOENT' || fault.code === 'ENOTDIR') return null;
  throw fault;
}
