import { createWriteStream } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { InputError, WorkerError } from '../errors.ts';
import { isAbort } from '../link/link-errors.ts';
import { NameLedger } from './zip-names.ts';

/** What an archive may become. Bytes are counted as they are written, whatever the archive declares. */
export interface ZipLimits {
  /** Files and folders; an archive with more entries is refused before anything of it is read. */
  entries: number;
  totalBytes: number;
  /** Written bytes per byte of the archive. Text tables reach 20; beyond 200 it is a bomb. */
  ratio: number;
  /** Below so many written bytes the ratio does not matter. */
  ratioFrom: number;
}

const MIB = 1024 * 1024;
export const LIMITS: ZipLimits = {
  entries: 20_000,
  totalBytes: 10 * 1024 * MIB,
  ratio: 200,
  ratioFrom: 32 * MIB,
};

/**
 * Unpacks an archive below `target`, which is created. Nothing is ever written outside of it, and no link.
 * @param what how messages call the archive
 * @throws InputError for a broken, hostile or oversized archive; other errors are this machine's
 */
export async function unzip(
  archive: string,
  target: string,
  what: string,
  limits: ZipLimits = LIMITS,
  signal?: AbortSignal,
): Promise<void> {
  await mkdir(target, { recursive: true });
  const budget = new Budget(limits, (await stat(archive)).size);
  const names = new NameLedger();
  let zip: ZipFile | undefined;
  try {
    // lazyEntries is what openPromise sets: one entry at a time, at constant memory.
    zip = await openPromise(archive);
    // The archive's end says how many there are; no more are ever read than it says.
    budget.expectEntries(zip.entryCount);
    for await (const entry of zip.eachEntry()) {
      signal?.throwIfAborted();
      const found = names.claim(entry);
      budget.assertNames(names.size);
      if (found === null) continue;
      const path = join(target, found.name);
      if (found.folder) await mkdir(path, { recursive: true });
      else await writeEntry(zip, entry, path, budget, signal);
    }
    await refuseMore(archive, zip);
  } catch (error) {
    throw judged(error, what);
  } finally {
    zip?.close();
  }
}

/** What stands before each entry of the list at an archive's end (APPNOTE.TXT 4.3.12). */
const ENTRY_SIGNATURE = 0x02014b50;

/**
 * Writers that do not know zip64 count to 65,535 and begin anew: what follows the last entry that was counted tells.
 * @throws InputError where that is another entry
 */
async function refuseMore(archive: string, zip: ZipFile): Promise<void> {
  // yauzl keeps there how far it has read; it tells nobody else where the list is.
  const { readEntryCursor: end } = zip as ZipFile & { readEntryCursor: number };
  const file = await open(archive);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(4), 0, 4, end);
    if (bytesRead < 4 || buffer.readUInt32LE() !== ENTRY_SIGNATURE) return;
    throw new InputError(
      `it has more entries than the ${zip.entryCount} that its end tells of; pack it with zip64`,
    );
  } finally {
    await file.close();
  }
}

/** Tells the archive's faults from those of this machine's disk. */
function judged(error: unknown, what: string): unknown {
  if (error instanceof InputError) return new InputError(`${what}: ${error.message}`);
  if (error instanceof WorkerError) return new WorkerError(`${what}: ${error.message}`, { cause: error });
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (isAbort(error)) return error;
  const ofTheNames = code === 'EEXIST' || code === 'ENAMETOOLONG';
  if (syscall !== undefined && !ofTheNames) return error;
  return new InputError(`${what} is not a readable zip archive: ${message}`);
}

async function writeEntry(
  zip: ZipFile,
  entry: Entry,
  path: string,
  budget: Budget,
  signal?: AbortSignal,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const content = await zip.openReadStreamPromise(entry);
  let sum = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sum = crc32(chunk, sum);
      done(budget.takeBytes(chunk.length), chunk);
    },
  });
  // "wx": an entry never replaces what another has written.
  const file = createWriteStream(path, { flags: 'wx', mode: 0o644 });
  await pipeline(content, counted, file, signal ? { signal } : {});
  if (sum !== entry.crc32) throw new InputError(`the checksum of '${entry.fileName}' does not match`);
}

class Budget {
  readonly #limits: ZipLimits;
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(limits: ZipLimits, archiveBytes: number) {
    this.#limits = limits;
    const byRatio = Math.max(limits.ratioFrom, archiveBytes * limits.ratio);
    this.#mostBytes = Math.min(limits.totalBytes, byRatio);
  }

  expectEntries(count: number): void {
    if (count <= this.#limits.entries) return;
    throw new InputError(`it has ${count} entries; ${this.#limits.entries} are allowed`);
  }

  /** Folders that no entry names, but the files in them, are made too. */
  assertNames(count: number): void {
    if (count <= this.#limits.entries) return;
    throw new InputError(`it makes more than ${this.#limits.entries} files and folders`);
  }

  takeBytes(count: number): InputError | null {
    this.#bytes += count;
    if (this.#bytes <= this.#mostBytes) return null;
    return this.#mostBytes === this.#limits.totalBytes
      ? new InputError(`unpacks to more than ${this.#limits.totalBytes} bytes`)
      : new InputError(`unpacks to more than ${this.#limits.ratio} times its size; refused as a zip bomb`);
  }
}
