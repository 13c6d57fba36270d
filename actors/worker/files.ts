import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { AppError } from '../../machines/protocol/app-error.ts';

/** Windows has neither; there nothing else opens under the name of a file. */
const CAREFULLY = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const CHUNK = 64 * 1024;
/** Characters that are written, and bytes that are read, without a detour through another thread, which costs ten times as much. */
const FEW = 64 * 1024;
/** Entries of a folder, and folders within folders, that are removed so. */
const FEW_ENTRIES = 20;
const FEW_LEVELS = 1;

/** What lies where a file should be is none that this worker reads: a link, a pipe, a device, a folder, too large. */
export class UnfitFileError extends AppError {
  readonly code = 'unfit_file';
}

/**
 * Opens a file that a task may have made, which may be anything: only a regular one, below `root` without a link on
 * the way, and without waiting for anybody. To open a pipe the usual way waits for its other end for ever, and holds
 * one of the few threads that all files of this process share.
 * @param flags how to open it, for reading by default; never `O_CREAT`
 * @throws UnfitFileError, or the system's error
 */
export async function openPlain(root: string, path: string, flags = constants.O_RDONLY): Promise<FileHandle> {
  refuseElsewhere(root, path);
  const file = await open(path, flags | CAREFULLY);
  try {
    refuseOdd(path, await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Reads such a file at once.
 * @returns null where it has more bytes than that
 * @throws UnfitFileError, or the system's error
 */
export function readFew(root: string, path: string, most: number): Buffer | null {
  refuseElsewhere(root, path);
  const file = openSync(path, constants.O_RDONLY | CAREFULLY);
  try {
    const found = fstatSync(file);
    refuseOdd(path, found);
    if (found.size > most) return null;
    // A byte more than it had: it may be growing.
    const bytes = Buffer.allocUnsafe(found.size + 1);
    let read = 0;
    for (let more = -1; more !== 0 && read < bytes.length; read += more) {
      more = readSync(file, bytes, read, bytes.length - read, null);
    }
    return read < bytes.length ? bytes.subarray(0, read) : null;
  } finally {
    closeSync(file);
  }
}

/**
 * Reads such a file, at most so many bytes.
 * @throws UnfitFileError, or the system's error
 */
export async function readPlain(root: string, path: string, maxBytes: number): Promise<string> {
  const few = readFew(root, path, Math.min(FEW, maxBytes));
  if (few) return few.toString('utf8');
  const file = await openPlain(root, path);
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw unfit(path, `has ${size} bytes; ${maxBytes} are allowed`);
    const parts: Buffer[] = [];
    // Not by its size: some files of the system have none, and others grow.
    for (let total = 0; ; ) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, null);
      if (bytesRead === 0) return Buffer.concat(parts, total).toString('utf8');
      total += bytesRead;
      if (total > maxBytes) throw unfit(path, `has more than the ${maxBytes} bytes that are allowed`);
      parts.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

interface Kind {
  isFile(): boolean;
  isSymbolicLink(): boolean;
  isDirectory(): boolean;
  isFIFO(): boolean;
}

/** Looked at before it is opened, since to open a device may already do something. */
function refuseElsewhere(root: string, path: string): void {
  const inside = relative(root, path);
  if (inside === '' || inside.split(sep)[0] === '..' || isAbsolute(inside))
    throw unfit(path, 'lies elsewhere');
  const folder = realpathSync.native(dirname(path));
  if (folder !== join(realpathSync.native(root), dirname(inside))) throw unfit(path, 'lies behind a link');
  refuseOdd(path, lstatSync(path));
}

function refuseOdd(path: string, found: Kind): void {
  if (found.isFile()) return;
  const what = found.isSymbolicLink()
    ? 'a link'
    : found.isDirectory()
      ? 'a folder'
      : found.isFIFO()
        ? 'a pipe'
        : 'a device or socket';
  throw unfit(path, `is ${what}, not a file`);
}

const unfit = (path: string, why: string) => new UnfitFileError(`${path.split(sep).at(-1)} ${why}`);

/** Writes a file into the state directory, where this worker alone writes. */
export async function writeText(path: string, text: string): Promise<void> {
  if (text.length <= FEW) writeFileSync(path, text);
  else await writeFile(path, text);
}

/**
 * Removes a folder of few and small files at once.
 * @returns whether it is gone; one that holds more is not, and what is left of it is for others to remove
 */
export function removeFew(folder: string, levels = FEW_LEVELS): boolean {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    if (entries.length > FEW_ENTRIES) return false;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) unlinkSync(path);
      else if (levels === 0 || !removeFew(path, levels - 1)) return false;
    }
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}
