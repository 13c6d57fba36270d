import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Blobs, BlobWriter } from '../../backend.ts';
import type { UploadedBlob } from '../../contract/route.ts';
import { safeFilename } from '../reply/filename.ts';
import { artifactTooLarge } from '../reply/refusal.ts';
import type { BodyStream } from './body-stream.ts';
import { ClientGoneError } from './exchange.ts';

/** The name of the part that holds the artifact. */
const PART = 'file';
/** Parts beside it are read over; no more than this of each is even looked at. */
const LIMITS = { fieldSize: 1024, fields: 100, parts: 200, headerPairs: 50, headerSize: 16 * 1024 };

const malformed = (detail: string) => new ClusterError('malformed_body', detail);

/** Refuses, by its header alone, what cannot be the body of an upload. */
export function assertMultipart(contentType: string | undefined): asserts contentType is string {
  if (contentType && /^multipart\/form-data\s*;.*boundary=[^\s;]/i.test(contentType)) return;
  throw malformed(`an upload is a multipart/form-data body with one part '${PART}'`);
}

export interface Upload {
  contentType: string;
  body: BodyStream;
  /** Bytes that the client declared for the body; 0 when it declared none. */
  expected: number;
  blobs: Blobs;
  /** Largest artifact, in bytes. */
  maxArtifactBytes: number;
  /** Largest body, in bytes. */
  maxBodyBytes: number;
}

/** The bytes lie in the blob store; what becomes of them is for the caller to say. */
export interface ReceivedFile {
  blob: UploadedBlob;
  /** An artifact names them. */
  release(): Promise<void>;
  /** No artifact will. */
  discard(): Promise<void>;
}

/**
 * Streams the part `file` of a multipart body into the blob store, at constant memory. Whatever goes wrong,
 * nothing is left in the store.
 * @throws ClusterError `malformed_body` unless there is exactly one such part, `artifact_too_large`, and what
 * the store says; ClientGoneError
 */
export function receiveFile(upload: Upload): Promise<ReceivedFile> {
  return new FileReceiver(upload).run();
}

class FileReceiver {
  readonly #upload: Upload;
  readonly #parser: BusboyInstance;
  #file: Readable | undefined;
  #filename: string | null = null;
  #writer: BlobWriter | undefined;
  #written: Promise<void> = Promise.resolve();
  #failure: unknown;

  constructor(upload: Upload) {
    this.#upload = upload;
    this.#parser = this.#makeParser();
  }

  async run(): Promise<ReceivedFile> {
    try {
      await pipeline(this.#counted(), this.#parser);
      await this.#written;
      if (this.#failure !== undefined) throw this.#failure;
      const writer = this.#writer;
      if (!writer) throw malformed(`the body has no part '${PART}' whose name and filename can be read`);
      const blob = { ...(await writer.finish()), filename: this.#filename };
      return { blob, release: () => writer.keep(), discard: () => writer.abort() };
    } catch (error) {
      this.#fail(error);
      await this.#written.catch(() => {});
      // Should this fail as well, the first fault is still the one to tell.
      await this.#writer?.abort().catch(() => {});
      throw this.#failure;
    }
  }

  #makeParser(): BusboyInstance {
    const headers = { 'content-type': this.#upload.contentType };
    const isPartAFile = (name: string | undefined) => name === PART;
    try {
      const parser = new Busboy({ headers, limits: LIMITS, isPartAFile, preservePath: true });
      // Stays for good: the parser may report the same broken body more than once.
      parser.on('error', (fault) => this.#fail(brokenBody(fault)));
      parser.on('file', (_name, file, filename) => this.#take(file, filename));
      return parser;
    } catch (error) {
      throw brokenBody(error);
    }
  }

  #take(file: Readable, filename: string | undefined): void {
    file.on('error', () => {});
    if (this.#file) {
      file.resume();
      this.#fail(malformed(`the body has more than one part '${PART}'`));
      return;
    }
    this.#file = file;
    this.#filename = safeFilename(filename);
    this.#written = this.#store(file);
    this.#written.catch((error) => this.#fail(error));
  }

  async #store(file: Readable): Promise<void> {
    const { blobs, maxArtifactBytes, expected } = this.#upload;
    let size = 0;
    this.#writer = await blobs.create(expected);
    for await (const chunk of file as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxArtifactBytes) throw artifactTooLarge(maxArtifactBytes);
      await this.#writer.write(chunk);
    }
  }

  async *#counted(): AsyncGenerator<Buffer, void, void> {
    let size = 0;
    for await (const chunk of this.#upload.body.read()) {
      size += chunk.length;
      if (size > this.#upload.maxBodyBytes) throw artifactTooLarge(this.#upload.maxArtifactBytes);
      yield chunk;
    }
  }

  /** The first fault is the one that is told; those that follow from it are not. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#upload.body.discard();
    this.#parser.destroy();
    this.#file?.destroy();
  }
}

/** The parser is also destroyed with the faults of its source, and tells them again as its own. */
function brokenBody(error: unknown): unknown {
  if (error instanceof ClusterError || error instanceof ClientGoneError) return error;
  return malformed(`malformed multipart body: ${error instanceof Error ? error.message : String(error)}`);
}
