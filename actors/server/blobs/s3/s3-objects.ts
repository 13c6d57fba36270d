import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import type { DirectPut } from '../../../../machines/schema/direct-upload.ts';
import { CHUNK } from '../../../shared/file-bytes.ts';
import type { Listed, ObjectBytes, ObjectDriver, ObjectSight, SetAside } from '../driver.ts';
import { damagedPath, isHash, objectPath } from '../paths.ts';
import type { Bucket } from './bucket.ts';
import { comparesChecksums } from './compares-checksums.ts';
import { isBehind, isMissing, isWrong, unavailable, wordsOf } from './faults.ts';
import { Owner } from './owner.ts';
import { Sight } from './sight.ts';

export interface S3Options {
  bucket: Bucket;
  /** Of the store whose objects these are. */
  id: string;
  /** Whether that names no object yet. */
  isNew: boolean;
  /** Whether it is not asked whose they are. */
  isAnybodys?: boolean;
  /** Whether a program is of no use without it: then it has to be reached at the start, too. */
  isNeeded?: boolean;
  /** Whether clients that ask for it are sent there. */
  presigns?: boolean;
  log: Pick<Logger, 'warn' | 'error'>;
  /** Seconds since the epoch. */
  now(): number;
}

/** Seconds after which something that nobody names is left over: no upload takes so long. */
const OLD = 86_400;
/** Bytes that a service takes in one request: only of what comes so its checksum is the SHA-256 of the whole. */
const MOST_AT_ONCE = 5 * 1024 ** 3;
/** Seconds for which nothing is asked after the store failed, so that nobody waits for an answer that does not come. */
const PAUSE = 2;
/** How often bytes that break off are gone on with before something has come again, and the longest wait in between. */
const RESUMES = 5;
const LONGEST_WAIT_MS = 2_000;

/**
 * Objects in a bucket of S3, under the names that they have in a state directory. They have no marks: what an upload has
 * left is found by its age, when all of them are listed. Whether an object that lies there is whole is known by its
 * length and by the SHA-256 that it was written with: its bytes are kept by the service, which compares them itself.
 */
export class S3Objects implements ObjectDriver {
  readonly where = 'in the object store';
  readonly #options: S3Options;
  readonly #bucket: Bucket;
  readonly #owner: Owner;
  readonly #sight: Sight;
  /** Those that were put aside by this process. */
  readonly #aside = new Set<string>();
  #isConfirmed = false;
  /** Whether the service refuses what has another checksum than it was told; undefined: it was not tried yet. */
  #compares: boolean | undefined;
  /** What failed last, and until when that is the answer to everybody. */
  #pause: { until: number; why: unknown } = { until: 0, why: null };

  constructor(options: S3Options) {
    this.#options = options;
    this.#bucket = options.bucket;
    this.#owner = new Owner(options.bucket, options.id);
    this.#sight = new Sight(options.bucket, this.#owner, () => this.#confirm());
  }

  /** A service that is away just now keeps no server from starting: its leases and reads need no objects. */
  async start(): Promise<void> {
    const { url } = this.#bucket.location;
    try {
      await this.#confirm();
    } catch (error) {
      if (error instanceof StartError) throw error;
      if (this.#options.isNeeded || isWrong(error))
        throw new StartError('objects_unusable', `--objects: ${url} cannot be used: ${wordsOf(error)}`);
      this.#options.log.warn(
        { why: wordsOf(error) },
        `${url} cannot be reached: until it can, artifacts are neither taken nor given`,
      );
    }
  }

  look(): Promise<ObjectSight> {
    return this.#sight.look();
  }

  async mark(): Promise<void> {}
  async unmark(): Promise<void> {}
  async marked(): Promise<string[]> {
    return [];
  }

  async *leftovers(): AsyncGenerator<string[]> {
    await this.#ask(() => this.#bucket.abortOld('objects/', this.#options.now() - OLD));
    for await (const page of this.#old()) {
      const whole = new Set(page.map(({ key }) => key));
      for (const { key } of page) {
        const mended = key.replace(/\.damaged$/, '');
        if (mended !== key && whole.has(mended)) await this.#ask(() => this.#bucket.remove(key));
      }
      yield [...new Set(page.flatMap(({ key }) => hashIn(key) ?? []))];
    }
  }

  async prepare(): Promise<void> {}

  async place(path: string, bytes: ObjectBytes): Promise<void> {
    const key = objectPath(bytes.sha256);
    await this.#ask(async () => {
      const isSeldom = bytes.size_bytes > CHUNK;
      // Of few bytes, asking beforehand would cost as much as sending them.
      const there = (isSeldom || !this.#bucket.isConditional) && (await this.isWhole(bytes));
      if (there) return;
      if (await this.#bucket.putFile(key, path, bytes, true)) return;
      if (!(await this.isWhole(bytes))) await this.#bucket.putFile(key, path, bytes, false);
    });
    if (this.#aside.delete(bytes.sha256))
      await this.#bucket.remove(damagedPath(bytes.sha256)).catch(() => {});
    await rm(path, { force: true });
  }

  async isWhole({ sha256, size_bytes }: ObjectBytes): Promise<boolean> {
    const found = await this.#ask(() => this.#bucket.head(objectPath(sha256)));
    return found?.size === size_bytes && found.sha256 === sha256;
  }

  /** Writing them says it: what lies there is not written again. */
  async holds(): Promise<boolean> {
    return false;
  }

  async size(sha256: string): Promise<number | null> {
    return this.#ask(async () => (await this.#bucket.head(objectPath(sha256)))?.size ?? null);
  }

  read(sha256: string, start: number, end: number): Readable {
    const over = new AbortController();
    const pieces = this.#pieces(sha256, start, end, over.signal);
    const stream = Readable.from(pieces, { objectMode: false, highWaterMark: CHUNK });
    stream.once('close', () => over.abort());
    return stream;
  }

  /** What breaks off on the way is gone on with where it did. */
  async *#pieces(sha256: string, start: number, end: number, over: AbortSignal): AsyncGenerator<Buffer> {
    for (let at = start, failures = 0; at <= end; ) {
      try {
        const body = await this.#ask(() => this.#bucket.get(objectPath(sha256), at, end, over));
        const before = at;
        for await (const piece of body as AsyncIterable<Buffer>) {
          at += piece.length;
          failures = 0;
          yield piece;
        }
        if (at === before) throw new Error('no bytes came');
      } catch (error) {
        if (over.aborted || this.lossOf(error) !== null || ++failures > RESUMES)
          throw this.lossOf(error) === null ? this.#fault(error) : error;
        await delay(Math.min(LONGEST_WAIT_MS, 50 * 2 ** failures), undefined, { signal: over });
      }
    }
  }

  async addressOf(sha256: string, disposition: string): Promise<string | null> {
    if (!this.#options.presigns) return null;
    return this.#ask(() => this.#bucket.presigned(objectPath(sha256), disposition));
  }

  /**
   * They come under their own name at once: the service takes no others there. Of one that does not compare what comes, each
   * upload would have to be read by the server, and so it may as well come through it.
   */
  async directPut(bytes: ObjectBytes): Promise<DirectPut | null> {
    if (!this.#options.presigns || bytes.size_bytes > MOST_AT_ONCE) return null;
    return this.#ask(async () => {
      this.#compares ??= await this.#triesToCompare();
      return this.#compares ? this.#bucket.presignedPut(objectPath(bytes.sha256), bytes) : null;
    });
  }

  async #triesToCompare(): Promise<boolean> {
    const compares = await comparesChecksums(this.#bucket);
    if (!compares)
      this.#options.log.warn(
        `--presign: ${this.#bucket.location.url} takes no uploads by signed addresses, or also bytes that have another SHA-256 than was signed; uploads come through the server`,
      );
    return compares;
  }

  lossOf(error: unknown): 'missing' | 'damaged' | null {
    if (isMissing(error)) return 'missing';
    return isBehind(error) ? 'damaged' : null;
  }

  async hash(sha256: string, onBytes: (bytes: number) => void = () => {}): Promise<string> {
    const size = await this.size(sha256);
    if (size === null) throw Object.assign(new Error('there is nothing'), { name: 'NoSuchKey' });
    const hash = createHash('sha256');
    for await (const piece of this.read(sha256, 0, size - 1)) {
      hash.update(piece as Buffer);
      onBytes((piece as Buffer).length);
    }
    return hash.digest('hex');
  }

  async setAside(sha256: string): Promise<SetAside> {
    try {
      const found = await this.hash(sha256);
      if (found === sha256) return 'whole';
      await this.#ask(() => this.#bucket.copy(objectPath(sha256), damagedPath(sha256)));
      await this.#ask(() => this.#bucket.remove(objectPath(sha256)));
      this.#aside.add(sha256);
      return { found, aside: this.#shown(damagedPath(sha256)) };
    } catch (error) {
      if (isMissing(error)) return 'gone';
      throw error;
    }
  }

  isSetAside(sha256: string): Promise<boolean> {
    return this.#ask(async () => (await this.#bucket.head(damagedPath(sha256))) !== null);
  }

  async remove(sha256: string): Promise<number | null> {
    return this.#ask(async () => {
      // What was this store's may be another's by now.
      if (!(await this.#owner.isOurs())) throw new Error('its objects belong to another store now');
      const names = [objectPath(sha256), damagedPath(sha256)];
      const found = await Promise.all(names.map((name) => this.#bucket.head(name)));
      for (const [i, name] of names.entries()) if (found[i]) await this.#bucket.remove(name);
      this.#aside.delete(sha256);
      const there = found.filter((head) => head !== null);
      return there.length === 0 ? null : there.reduce((sum, { size }) => sum + size, 0);
    });
  }

  async settle(): Promise<void> {}

  async *list(): AsyncGenerator<Listed> {
    for await (const page of this.#old())
      for (const { key } of page) yield { path: this.#shown(key), sha256: hashIn(key) };
  }

  /** All that are not put aside, in the order of their hashes. */
  async *inOrder(): AsyncGenerator<{ sha256: string; size: number }> {
    for await (const page of this.#pages())
      for (const { key, size } of page) {
        const sha256 = key.endsWith('.damaged') ? null : hashIn(key);
        if (sha256 !== null) yield { sha256, size };
      }
  }

  /** What has been there for a day, and longer than any upload takes. */
  async *#old() {
    const before = this.#options.now() - OLD;
    for await (const page of this.#pages()) yield page.filter(({ modified }) => modified < before);
  }

  async *#pages() {
    const pages = this.#bucket.list('objects/');
    for (;;) {
      const next = await this.#ask(() => pages.next());
      if (next.done) return;
      yield next.value;
    }
  }

  #shown(key: string): string {
    const { bucket, prefix } = this.#bucket.location;
    return `s3://${bucket}/${prefix}${key}`;
  }

  /** @throws StartError, and what the SDK throws */
  async #confirm(): Promise<void> {
    if (this.#isConfirmed || this.#options.isAnybodys) return;
    await this.#owner.take(this.#options.isNew);
    this.#isConfirmed = true;
  }

  /** Asks the service, once it is known that the objects there are this store's. @throws ClusterError or StartError */
  async #ask<T>(work: () => Promise<T>): Promise<T> {
    if (performance.now() / 1000 < this.#pause.until) throw this.#fault(this.#pause.why);
    try {
      await this.#confirm();
      return await work();
    } catch (error) {
      if (this.lossOf(error) !== null || (error as Error).name === 'AbortError') throw error;
      this.#sight.doubt();
      this.#pause = { until: performance.now() / 1000 + PAUSE, why: error };
      this.#options.log.error({ why: wordsOf(error) }, 'the object store did not do what it was asked');
      throw this.#fault(error);
    }
  }

  /** As an answer to a request, or as the reason why a program ends. */
  #fault(error: unknown): Error {
    const fault = unavailable(error);
    return this.#options.isNeeded ? new StartError('objects_unusable', fault.message) : fault;
  }
}

/** The object whose bytes a key has, or had. */
function hashIn(key: string): string | null {
  const sha256 = key.slice(key.lastIndexOf('/') + 1).replace(/\.damaged$/, '');
  return isHash(sha256) && [objectPath(sha256), damagedPath(sha256)].includes(key) ? sha256 : null;
}
