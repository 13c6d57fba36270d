import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import type { DirectUpload, DirectUploadReply } from '../../machines/schema/direct-upload.ts';
import type { ArtifactUploaded } from '../../machines/schema/views.ts';
import { ResponseError } from './errors.ts';
import type { SentFile } from './form-data.ts';
import type { ObjectStore } from './object-store.ts';

/** Bytes of a file from which on it is worth two requests more, and being read twice. */
const SMALLEST = 1024 * 1024;
/**
 * Bytes of a file from which on it is not read before the server was asked whether it takes so many: it may say that it is
 * far longer than any disk.
 */
const LONG = 16 * 1024 * 1024;
/** Stands for a hash that is not known yet: no bytes have it. */
const UNREAD = '0'.repeat(64);
/** Milliseconds for which nobody asks again where it is of no use: no such server, or no way to its object store. */
const PAUSE_MS = 600_000;
/** Milliseconds without a byte taken, or an answer. */
const SILENCE_MS = 60_000;
/** Bytes that are read at once. */
const READ_BYTES = 256 * 1024;

type Sending = SentFile & { signal?: AbortSignal };

/** Uploads that do not go through the server, where it says so. */
export class DirectUploads {
  readonly #store: ObjectStore;
  /** By the clock of the process. */
  #notBefore = 0;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /**
   * Null where the file has to go through the server: it is small, the server knows no other way, or that leads nowhere from here.
   * @param ask asks the server how the bytes become an artifact
   * @throws what `ask` throws of a server that refuses the artifact or is away, and of a file that cannot be read
   */
  async send(
    sending: Sending,
    ask: (upload: DirectUpload) => Promise<DirectUploadReply>,
  ): Promise<ArtifactUploaded | null> {
    if (performance.now() < this.#notBefore) return null;
    const content = await (sending.open?.() ?? open(sending.file));
    try {
      const { size } = await content.stat();
      if (size < SMALLEST) return null;
      const bytes = { size_bytes: size, filename: sending.filename ?? basename(sending.file) };
      const first = size < LONG ? null : await ask({ ...bytes, sha256: UNREAD }).catch(unknownHere);
      if (first?.put === null) return this.#pause();
      const upload = { ...bytes, sha256: await hashOf(content, size, sending.signal) };
      const { artifact, put } = await ask(upload).catch(unknownHere);
      if (artifact !== null) return artifact;
      if (put !== null) {
        const body = Readable.from(piecesOf(content, size, sending.onProgress), { objectMode: false });
        if (await this.#store.put(put, { body, size }, { signal: sending.signal, silenceMs: SILENCE_MS }))
          return (await ask(upload)).artifact;
      }
      return this.#pause();
    } finally {
      await content.close();
    }
  }

  #pause(): null {
    this.#notBefore = performance.now() + PAUSE_MS;
    return null;
  }
}

/** A server that does not know the route, or not what is asked of it, has the other one. */
function unknownHere(fault: unknown): DirectUploadReply {
  if (fault instanceof ResponseError && [400, 404, 405, 422].includes(fault.status))
    return { artifact: null, put: null };
  throw fault;
}

async function hashOf(file: FileHandle, size: number, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of piecesOf(file, size)) {
    signal?.throwIfAborted();
    hash.update(piece);
  }
  return hash.digest('hex');
}

async function* piecesOf(
  file: FileHandle,
  size: number,
  onProgress?: SentFile['onProgress'],
): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const most = Math.min(READ_BYTES, size - at);
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(most), 0, most, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
    onProgress?.(at, size);
  }
}
