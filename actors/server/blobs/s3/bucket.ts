import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type * as Sdk from '@aws-sdk/client-s3';
import PQueue from 'p-queue';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import type { DirectPut } from '../../../../machines/schema/direct-upload.ts';
import type { ObjectBytes } from '../driver.ts';
import { isConflict, isMissing, isThere, isUnknown } from './faults.ts';
import type { S3Location } from './location.ts';
import { sendParts } from './send-parts.ts';

const MIB = 1024 * 1024;
/** Bytes of a part; what is not longer is sent in one request. */
const PART = 8 * MIB;
/** Parts that an object may have at most. */
const MOST_PARTS = 10_000;
/** Bytes from which on an object is large. */
const LARGE = MIB;
/** At the same time: large ones with two parts each, and small ones; together 48 MiB. */
const LARGE_ONES = 2;
const SMALL_ONES = 16;
const PARTS_AT_ONCE = 2;

/** Milliseconds until a connection must be there, and that one which carries something may be silent. */
const PATIENCE = { connectionTimeout: 3_000, socketTimeout: 20_000 };
/** Seconds for which an address is good; what has begun by then goes on. */
const PRESIGNED = 900;
/** How often something is tried before it counts as failed; the SDK waits in between. */
const ATTEMPTS = 3;

/** The key of metadata under which an object says what it is. */
const HASH = 'sha256';

export interface Head {
  size: number;
  /** What it says that it is; undefined where it was written by others. */
  sha256: string | undefined;
}

export interface Entry {
  key: string;
  size: number;
  /** Seconds since the epoch, by the clock of the service. */
  modified: number;
}

/** The requests to a bucket. Keys are without the prefix of the location. Faults are those of the SDK. */
export class Bucket {
  readonly location: S3Location;
  readonly client: Sdk.S3Client;
  readonly sdk: typeof Sdk;
  readonly #large = new PQueue({ concurrency: LARGE_ONES });
  readonly #small = new PQueue({ concurrency: SMALL_ONES });
  /** Whether the service knows `If-None-Match: *`, as far as is known. */
  #conditional = true;

  private constructor(location: S3Location, sdk: typeof Sdk, patience: Partial<typeof PATIENCE>) {
    this.location = location;
    this.sdk = sdk;
    this.client = new sdk.S3Client({
      forcePathStyle: location.pathStyle,
      maxAttempts: ATTEMPTS,
      requestHandler: { ...PATIENCE, ...patience },
      // Every byte is compared with its SHA-256 here, and each request has the checksum that it needs.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
  }

  /**
   * @param patience stand-in for tests
   * @throws StartError where the SDK is not installed
   */
  static async open(location: S3Location, patience: Partial<typeof PATIENCE> = {}): Promise<Bucket> {
    // Which Node.js this program needs, it says itself.
    process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
    try {
      return new Bucket(location, await import('@aws-sdk/client-s3'), patience);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
      throw new StartError(
        'objects_unusable',
        'objects in S3 need the packages of the AWS SDK: install with --include=optional',
      );
    }
  }

  /** Null where there is nothing. */
  async head(key: string): Promise<Head | null> {
    const found = await this.client
      .send(new this.sdk.HeadObjectCommand(this.#at(key)))
      .catch(nothing(isMissing));
    return found && { size: found.ContentLength ?? 0, sha256: found.Metadata?.[HASH] };
  }

  /** Bytes `start` to `end`, both included. */
  async get(key: string, start: number, end: number, abortSignal: AbortSignal): Promise<Readable> {
    const command = new this.sdk.GetObjectCommand({ ...this.#at(key), Range: `bytes=${start}-${end}` });
    return (await this.client.send(command, { abortSignal })).Body as Readable;
  }

  /** An address that gives whoever has it what is under a key, for `PRESIGNED` seconds. */
  async presigned(key: string, disposition: string): Promise<string> {
    const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
    const command = new this.sdk.GetObjectCommand({
      ...{ ...this.#at(key), ResponseContentDisposition: disposition },
      ResponseContentType: 'application/octet-stream',
      // Whoever wrote it past the server may have told the service otherwise, and browsers would unpack what is not packed.
      ResponseContentEncoding: 'identity',
    });
    return getSignedUrl(this.client, command, { expiresIn: PRESIGNED });
  }

  /**
   * A request by which whoever has it writes these bytes under a key, for `PRESIGNED` seconds. Others it cannot write where the service
   * compares the checksum, which is signed, as are the length and what the object says that it is.
   */
  async presignedPut(key: string, bytes: ObjectBytes): Promise<DirectPut> {
    const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
    const command = new this.sdk.PutObjectCommand({
      ...{ ...this.#at(key), ...described(bytes.sha256), ContentLength: bytes.size_bytes },
    });
    const headers = {
      'x-amz-checksum-sha256': checksumOf(bytes.sha256),
      [`x-amz-meta-${HASH}`]: bytes.sha256,
    };
    const url = await getSignedUrl(this.client, command, {
      expiresIn: PRESIGNED,
      // Not every service looks for them in the address.
      unhoistableHeaders: new Set(Object.keys(headers)),
    });
    return { url, headers };
  }

  /** A small text; null where there is none. */
  async text(key: string): Promise<string | null> {
    const found = await this.client
      .send(new this.sdk.GetObjectCommand(this.#at(key)))
      .catch(nothing(isMissing));
    return (await found?.Body?.transformToString()) ?? null;
  }

  /** @param onlyNew not where there is something already; whether it was written */
  async putText(key: string, text: string, onlyNew: boolean): Promise<boolean> {
    return this.#ifNew(onlyNew, (condition) =>
      this.client.send(
        new this.sdk.PutObjectCommand({ ...this.#at(key), Body: Buffer.from(text), ...condition }),
      ),
    );
  }

  /**
   * Sends a file.
   * @param onlyNew not where there is something already, where the service can see to that
   * @returns whether it was written
   */
  putFile(key: string, path: string, bytes: ObjectBytes, onlyNew: boolean): Promise<boolean> {
    const queue = bytes.size_bytes > LARGE ? this.#large : this.#small;
    return queue.add(() =>
      this.#ifNew(onlyNew, (condition) =>
        bytes.size_bytes > PART
          ? this.#sendParts(key, path, bytes, condition)
          : this.#sendAtOnce(key, path, bytes, condition),
      ),
    );
  }

  async #sendAtOnce(key: string, path: string, { sha256 }: ObjectBytes, condition: Condition): Promise<void> {
    const command = new this.sdk.PutObjectCommand({
      ...this.#at(key),
      Body: await readFile(path),
      ...described(sha256),
      ...condition,
    });
    await this.client.send(command);
  }

  #sendParts(
    key: string,
    path: string,
    { sha256, size_bytes }: ObjectBytes,
    condition: Condition,
  ): Promise<void> {
    return sendParts({
      ...{ sdk: this.sdk, client: this.client, at: this.#at(key), path, size: size_bytes },
      partSize: Math.max(PART, Math.ceil(size_bytes / MOST_PARTS)),
      ...{ atOnce: PARTS_AT_ONCE, metadata: { [HASH]: sha256 }, condition },
    });
  }

  /** Whether it was written. A service that knows no conditions writes in any case. */
  async #ifNew(onlyNew: boolean, send: (condition: Condition) => Promise<unknown>): Promise<boolean> {
    const conditional = onlyNew && this.#conditional;
    try {
      await send(conditional ? { IfNoneMatch: '*' } : {});
      return true;
    } catch (error) {
      if (conditional && (isThere(error) || isConflict(error))) return false;
      if (!conditional || !isUnknown(error)) throw error;
      this.#conditional = false;
      return this.#ifNew(false, send);
    }
  }

  /** Seconds by which the clock of the service is ahead, as its last answer said, which tells whole ones. */
  get clockAhead(): number {
    return this.client.config.systemClockOffset / 1000;
  }

  /** Whether writing can be left to a condition; else whoever writes looks before. */
  get isConditional(): boolean {
    return this.#conditional;
  }

  async copy(from: string, to: string): Promise<void> {
    const { Bucket: bucket, Key } = this.#at(from);
    await this.client.send(
      new this.sdk.CopyObjectCommand({ ...this.#at(to), CopySource: encodeURI(`${bucket}/${Key}`) }),
    );
  }

  /** What is not there is removed, too. */
  async remove(key: string): Promise<void> {
    await this.client.send(new this.sdk.DeleteObjectCommand(this.#at(key)));
  }

  /** All keys that begin so, a page at a time. */
  async *list(start: string): AsyncGenerator<Entry[]> {
    const { bucket, prefix } = this.location;
    const pages = this.sdk.paginateListObjectsV2(
      { client: this.client },
      { Bucket: bucket, Prefix: prefix + start },
    );
    for await (const { Contents = [] } of pages)
      yield Contents.map(({ Key = '', Size = 0, LastModified }) => ({
        key: Key.slice(prefix.length),
        size: Size,
        modified: (LastModified?.getTime() ?? 0) / 1000,
      }));
  }

  /**
   * Ends what was begun in parts and never finished.
   * @param before seconds since the epoch
   * @returns how many there were
   */
  async abortOld(start: string, before: number): Promise<number> {
    const { bucket, prefix } = this.location;
    const command = new this.sdk.ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix + start });
    const { Uploads = [] } = await this.client.send(command);
    const old = Uploads.filter(({ Initiated }) => (Initiated?.getTime() ?? 0) / 1000 < before);
    for (const { Key, UploadId } of old)
      await this.client.send(new this.sdk.AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }));
    return old.length;
  }

  #at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.location.bucket, Key: this.location.prefix + key };
  }
}

type Condition = { IfNoneMatch?: '*' };

const checksumOf = (sha256: string): string => Buffer.from(sha256, 'hex').toString('base64');

/** The service compares the one, and keeps the other. */
const described = (sha256: string) => ({
  ChecksumSHA256: checksumOf(sha256),
  Metadata: { [HASH]: sha256 },
});

/** For a fault that only says that there is nothing. */
const nothing = (isIt: (error: unknown) => boolean) => (error: unknown) => {
  if (isIt(error)) return null;
  throw error;
};
