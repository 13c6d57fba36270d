import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
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

/**
 * Content-addressed blobs on disk: `objects/aa/bb/<sha256>`, uploads under way in `uploads/`. Bytes that lie in
 * their place before an artifact names them have a mark, an empty file `uploads/<sha256>`, so that they are found
 * and removed should the server die in between.
 */
export class BlobStore implements Blobs {
  readonly #root: string;
  readonly #maxBytes: number;
  readonly #claims: Claims;

  /** @param isNamed whether an artifact of the store has this hash */
  constructor(stateDir: string, maxBytes: number, isNamed: (sha256: string) => Promise<boolean>) {
    this.#root = stateDir;
    this.#maxBytes = maxBytes;
    this.#claims = new Claims(stateDir, isNamed);
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

  async create(): Promise<BlobWriter> {
    const path = join(this.#root, 'uploads', randomUUID());
    try {
      const file = await open(path, 'wx');
      return new Upload(path, file, this.#maxBytes, this.#claims);
    } catch (fault) {
      throw inWords(fault);
    }
  }

  read(sha256: string, start: number, end: number) {
    return createReadStream(join(this.#root, objectPath(sha256)), { start, end, highWaterMark: 256 * 1024 });
  }
}

const isHash = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/** Who is about to have bytes named; equal bytes are one object with as many claims as uploads. */
class Claims {
  readonly #root: string;
  readonly #isNamed: (sha256: string) => Promise<boolean>;
  readonly #counts = new Map<string, number>();
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(root: string, isNamed: (sha256: string) => Promise<boolean>) {
    this.#root = root;
    this.#isNamed = isNamed;
  }

  /** Moves a file to where its bytes belong, or removes it where they lie already; claimed until `release`. */
  place(path: string, sha256: string, size: number): Promise<void> {
    return this.#alone(sha256, async () => {
      try {
        await writeFile(this.#markOf(sha256), '');
        const target = join(this.#root, objectPath(sha256));
        const present = await stat(target).catch(() => null);
        if (present?.size === size) await rm(path, { force: true });
        else await moveDurably(path, target);
      } catch (fault) {
        if (!this.#counts.has(sha256)) await this.clear(sha256).catch(() => {});
        throw fault;
      }
      this.#counts.set(sha256, (this.#counts.get(sha256) ?? 0) + 1);
    });
  }

  /** The last one to go removes the mark, and bytes that no artifact names. */
  release(sha256: string, kept: boolean): Promise<void> {
    return this.#alone(sha256, async () => {
      const left = (this.#counts.get(sha256) ?? 1) - 1;
      this.#counts.set(sha256, left);
      if (left > 0) return;
      this.#counts.delete(sha256);
      if (kept) await rm(this.#markOf(sha256), { force: true });
      else await this.clear(sha256);
    });
  }

  /** Removes the mark, and with it the bytes unless an artifact names them. */
  async clear(sha256: string): Promise<void> {
    if (!(await this.#isNamed(sha256))) await rm(join(this.#root, objectPath(sha256)), { force: true });
    await rm(this.#markOf(sha256), { force: true });
  }

  #markOf(sha256: string): string {
    return join(this.#root, 'uploads', sha256);
  }

  /** One after another for equal bytes: nobody removes what another one is just finding. */
  #alone<T>(sha256: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(sha256) ?? Promise.resolve()).then(work);
    const over = mine
      .catch(() => {})
      .then(() => {
        if (this.#last.get(sha256) === over) this.#last.delete(sha256);
      });
    this.#last.set(sha256, over);
    return mine;
  }
}

class Upload implements BlobWriter {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #maxBytes: number;
  readonly #claims: Claims;
  readonly #hash = createHash('sha256');
  #size = 0;
  #closed = false;
  /** The hash under which the bytes lie in their place, until it is known what becomes of them. */
  #claimed: string | undefined;

  constructor(path: string, file: FileHandle, maxBytes: number, claims: Claims) {
    this.#path = path;
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#claims = claims;
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
    try {
      await this.#file.sync();
      await this.#close();
      await this.#claims.place(this.#path, sha256, this.#size);
      this.#claimed = sha256;
    } catch (fault) {
      await this.abort();
      throw inWords(fault);
    }
    return { sha256, size_bytes: this.#size };
  }

  keep(): Promise<void> {
    return this.#release(true);
  }

  async abort(): Promise<void> {
    await this.#close().catch(() => {});
    await rm(this.#path, { force: true });
    await this.#release(false);
  }

  async #release(kept: boolean): Promise<void> {
    const sha256 = this.#claimed;
    this.#claimed = undefined;
    if (sha256 !== undefined) await this.#claims.release(sha256, kept);
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }
}

async function moveDurably(path: string, target: string): Promise<void> {
  const folder = dirname(target);
  const made = await mkdir(folder, { recursive: true });
  await rename(path, target);
  await syncFolder(folder);
  if (made === undefined) return;
  await syncFolder(dirname(folder));
  await syncFolder(dirname(dirname(folder)));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
