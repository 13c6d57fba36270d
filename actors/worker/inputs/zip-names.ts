import { type Entry, validateFileName } from 'yauzl';
import { fitsWindows } from '../../shared/file-names.ts';
import { InputError, WorkerError } from '../errors.ts';

const TYPE_BITS = 0o170000;
const REGULAR = 0o100000;
const DIRECTORY = 0o040000;
const MAX_NAME_BYTES = 1024;

interface Claimed {
  /** Relative path, with `/`. */
  name: string;
  folder: boolean;
}

/** Checks the names of an archive's entries, and that none is given twice or is both file and folder. */
export class NameLedger {
  readonly #kinds = new Map<string, 'file' | 'folder'>();
  readonly #platform: NodeJS.Platform;
  /** Names as they were written, by how a system that is blind to case sees them. */
  readonly #seen = new Map<string, string>();

  constructor(platform: NodeJS.Platform = process.platform) {
    this.#platform = platform;
  }

  /** Files and folders so far. */
  get size(): number {
    return this.#kinds.size;
  }

  /**
   * The place of an entry; null for one to pass over.
   * @throws InputError, or `WorkerError` for a name that other systems can hold
   */
  claim(entry: Entry): Claimed | null {
    const folder = entry.fileName.endsWith('/');
    const segments = checkedSegments(entry.fileName, folder);
    refuseSpecial(entry, folder);
    if (entry.isEncrypted())
      throw new InputError(`'${entry.fileName}' is encrypted; pack it without a password`);
    // What macOS adds to archives is no data.
    if (segments[0] === '__MACOSX') return null;
    const name = segments.join('/');
    this.#refuseForeign(segments);
    for (let depth = 1; depth < segments.length; depth++) {
      this.#folder(segments.slice(0, depth).join('/'));
    }
    if (folder) this.#folder(name);
    else if (this.#kinds.has(name)) throw new InputError(`'${name}' is in it twice`);
    else this.#kinds.set(name, 'file');
    return { name, folder };
  }

  /** A name that this system would change, or take for another one. */
  #refuseForeign(segments: readonly string[]): void {
    if (this.#platform === 'win32' && !segments.every(fitsWindows)) {
      throw new WorkerError(`Windows cannot hold a file named '${segments.join('/')}'`);
    }
    if (this.#platform !== 'win32' && this.#platform !== 'darwin') return;
    for (let depth = 1; depth <= segments.length; depth++) {
      const written = segments.slice(0, depth).join('/');
      const seen = written.normalize('NFC').toLowerCase();
      const before = this.#seen.get(seen) ?? written;
      if (before !== written) {
        throw new WorkerError(`this system cannot tell '${written}' from '${before}', which is in it too`);
      }
      this.#seen.set(seen, written);
    }
  }

  #folder(name: string): void {
    if (this.#kinds.get(name) === 'file') throw new InputError(`'${name}' is both a file and a folder`);
    this.#kinds.set(name, 'folder');
  }
}

function checkedSegments(fileName: string, folder: boolean): string[] {
  const fault = validateFileName(fileName);
  if (fault !== null) throw new InputError(`refused entry: ${fault}`);
  const segments = (folder ? fileName.slice(0, -1) : fileName).split('/');
  const odd = segments.some((s) => s === '' || s === '.' || s === '..' || s.includes('\0'));
  if (odd || Buffer.byteLength(fileName) > MAX_NAME_BYTES) {
    throw new InputError(`refused entry name: ${JSON.stringify(fileName.slice(0, 200))}`);
  }
  return segments;
}

/** Links, devices and pipes; the type stands in the upper half of the attributes when Unix wrote them. */
function refuseSpecial(entry: Entry, folder: boolean): void {
  const type = (entry.externalFileAttributes >>> 16) & TYPE_BITS;
  if (type === 0 || type === REGULAR || (folder && type === DIRECTORY)) return;
  throw new InputError(`'${entry.fileName}' is neither a plain file nor a folder (a link?); refused`);
}
