import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Blobs, BlobWriter } from '../gateway/ports.ts';
import { ClusterError } from '../machines/errors.ts';

/** Where a blob lies below the state directory. */
export const objectPath = (sha256: string): string =>
  `objects/${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`;

const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Faults of the disk in the words of the contract; others stay what they are. */
function inWords(fault: unknown): unknown {
  if (fault instanceof ClusterError) return fault;
  const { code } = fault as NodeJS.ErrnoException;
  if (code !== undefined && NO_ROOM.has(code)) {
    return new ClusterError(
      'no_room',
      'there is no room for the artifact; free space on the server and try again',
    );
  }
  return fault;
}

/** Content-addressed blobs on disk: `objects/aa/bb/<sha256>`, uploads under way in `uploads/`. */
export class BlobStore implements Blobs {
  readonly #root: string;
  readonly #maxBytes: number;

  constructor(stateDir: string, maxBytes: number) {
    this.#root = stateDir;
    this.#maxBytes = maxBytes;
  }

  /** Removes what uploads left that were under way when an earlier server died. */
  async start(): Promise<void> {
    const folder = join(this.#root, 'uploads');
    await mkdir(folder, { recursive: true });
    await mkdir(join(this.#root, 'objects'), { recursive: true });
    for (const name of await readdir(folder)) await rm(join(folder, name), { force: true });
  }

  async create(): Promise<BlobWriter> {
    const path = join(this.#root, 'uploads', randomUUID());
    try {
      const file = await open(path, 'wx');
      return new Upload(this.#root, path, file, this.#maxBytes);
    } catch (fault) {
      throw inWords(fault);
    }
  }

  read(sha256: string, start: number, end: number) {
    return createReadStream(join(this.#root, objectPath(sha256)), { start, end, highWaterMark: 256 * 1024 });
  }
}

class Upload implements BlobWriter {
  readonly #root: string;
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #maxBytes: number;
  readonly #hash = createHash('sha256');
  #size = 0;
  #closed = false;

  constructor(root: string, path: string, file: FileHandle, maxBytes: number) {
    this.#root = root;
    this.#path = path;
    this.#file = file;
    this.#maxBytes = maxBytes;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#size += chunk.byteLength;
    if (this.#size > this.#maxBytes) {
      throw new ClusterError('artifact_too_large', `an artifact may have at most ${this.#maxBytes} bytes`);
    }
    this.#hash.update(chunk);
    try {
      for (let done = 0; done < chunk.byteLength; ) {
        const { bytesWritten } = await this.#file.write(chunk, done);
        done += bytesWritten;
      }
    } catch (fault) {
      throw inWords(fault);
    }
  }

  /** fsync, rename into place, fsync of the folders: only then may a record point at it. */
  async finish(): Promise<{ sha256: string; size_bytes: number }> {
    const sha256 = this.#hash.digest('hex');
    const target = join(this.#root, objectPath(sha256));
    try {
      await this.#file.sync();
      await this.#close();
      const present = await stat(target).catch(() => null);
      if (present?.size === this.#size) await rm(this.#path, { force: true });
      else await this.#place(target);
    } catch (fault) {
      await this.abort();
      throw inWords(fault);
    }
    return { sha256, size_bytes: this.#size };
  }

  async #place(target: string): Promise<void> {
    const folder = dirname(target);
    const made = await mkdir(folder, { recursive: true });
    await rename(this.#path, target);
    await syncFolder(folder);
    if (made === undefined) return;
    await syncFolder(dirname(folder));
    await syncFolder(dirname(dirname(folder)));
  }

  async abort(): Promise<void> {
    await this.#close().catch(() => {});
    await rm(this.#path, { force: true });
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
