import { createHash } from 'node:crypto';
import { type FileHandle, rm } from 'node:fs/promises';
import type { BlobWriter } from '../../../gateway/backend.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Claims } from './claims.ts';
import type { Reservation } from './disk-space.ts';
import type { ObjectBytes, ObjectDriver } from './driver.ts';

/** @throws ClusterError `artifact_too_large` */
export function assertSize(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes)
    throw new ClusterError('artifact_too_large', `an artifact may have at most ${maxBytes} bytes`);
}

interface Parts {
  path: string;
  file: FileHandle;
  maxBytes: number;
  space: Reservation;
  driver: ObjectDriver;
  claims: Claims;
  /** Puts aside what lies in the place of these bytes and is none. */
  clear(bytes: ObjectBytes): Promise<unknown>;
  /** Throws a fault of the disk as clients see it. */
  tell(error: unknown): never;
}

/** Bytes on their way to the disk, hashed as they come. */
export class Upload implements BlobWriter {
  readonly #parts: Parts;
  readonly #hash = createHash('sha256');
  #size = 0;
  #closed = false;
  /** The hash under which the bytes lie in their place, until it is known what becomes of them. */
  #claimed: string | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async write(chunk: Uint8Array): Promise<void> {
    const { maxBytes, space, file } = this.#parts;
    this.#size += chunk.byteLength;
    assertSize(this.#size, maxBytes);
    await space.need(chunk.byteLength);
    this.#hash.update(chunk);
    try {
      for (let done = 0; done < chunk.byteLength; ) {
        const { bytesWritten } = await file.write(chunk, done);
        done += bytesWritten;
      }
      space.wrote(chunk.byteLength);
    } catch (error) {
      this.#parts.tell(error);
    }
  }

  /** Only once the bytes are durable in their place may a record point at them. */
  async finish(): Promise<{ sha256: string; size_bytes: number }> {
    const { driver, file } = this.#parts;
    const bytes = { sha256: this.#hash.digest('hex'), size_bytes: this.#size };
    try {
      await driver.prepare(file);
      await this.#close();
      await this.#place(bytes);
      this.#claimed = bytes.sha256;
    } catch (error) {
      await this.abort();
      this.#parts.tell(error);
    }
    return bytes;
  }

  keep(): Promise<void> {
    return this.#release(true);
  }

  async abort(): Promise<void> {
    await this.#close().catch(() => {});
    // What cannot be removed now, as on a disk that takes nothing more, the next server removes.
    await rm(this.#parts.path, { force: true }).catch(() => {});
    await this.#release(false);
  }

  async #place(bytes: ObjectBytes): Promise<void> {
    const { driver, claims, path, clear } = this.#parts;
    await claims.place(path, bytes).catch(async (fault: unknown) => {
      if (driver.lossOf(fault) !== 'damaged') throw fault;
      await clear(bytes);
      await claims.place(path, bytes);
    });
  }

  async #release(kept: boolean): Promise<void> {
    const sha256 = this.#claimed;
    this.#claimed = undefined;
    if (sha256 !== undefined) await this.#parts.claims.release(sha256, kept);
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#parts.space.release();
    await this.#parts.file.close();
  }
}
