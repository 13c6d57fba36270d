import { randomUUID } from 'node:crypto';
import {
  type FileHandle,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { hashOf, piecesOf } from '../../shared/file-bytes.ts';
import type { Listed, ObjectBytes, ObjectDriver, SetAside } from './driver.ts';
import { DurableMoves, syncFolder } from './durable.ts';
import { COMING, damagedPath, isHash, objectPath } from './paths.ts';
import { MARK } from './shared-folder.ts';

/**
 * Objects as files of a state directory: `objects/aa/bb/<sha256>`. Those that lie in their place before an artifact
 * names them have a mark, an empty file `uploads/<sha256>`, so that they are found and removed should the server die in
 * between. Bytes that were found damaged are put aside as `<sha256>.damaged`, and so is whatever else lies in their place,
 * such as a folder; one that holds something is never removed, since nothing of it is the server's.
 */
export class FolderObjects implements ObjectDriver {
  readonly where = 'on the disk of the server';
  readonly #root: string;
  readonly #moves = new DurableMoves();

  /** @param root the state directory */
  constructor(root: string) {
    this.#root = root;
  }

  async start(): Promise<void> {
    await mkdir(join(this.#root, 'objects'), { recursive: true });
    await rm(join(this.#root, COMING), { recursive: true, force: true });
  }

  async look(): Promise<null> {
    return null;
  }

  mark(sha256: string): Promise<void> {
    return writeFile(this.#markOf(sha256), '');
  }

  unmark(sha256: string): Promise<void> {
    return removeOne(this.#markOf(sha256));
  }

  async marked(): Promise<string[]> {
    return (await readdir(join(this.#root, 'uploads'))).filter(isHash);
  }

  async *leftovers(): AsyncGenerator<string[]> {}

  prepare(file: FileHandle): Promise<void> {
    return file.sync();
  }

  /** These take the place of equal bytes: they were hashed just now, and what lies there may have been damaged since. */
  async place(path: string, { sha256 }: ObjectBytes): Promise<void> {
    await this.#moves.move(path, this.#path(sha256), this.#root);
    await removeOne(this.#aside(sha256));
  }

  async holds(sha256: string, bytes: Uint8Array): Promise<boolean> {
    if ((await this.size(sha256)) !== bytes.byteLength) return false;
    return bytes.byteLength === 0 || (await readFile(this.#path(sha256))).equals(bytes);
  }

  async isWhole({ sha256, size_bytes }: ObjectBytes): Promise<boolean> {
    return (await this.size(sha256)) === size_bytes && (await this.hash(sha256)) === sha256;
  }

  async size(sha256: string): Promise<number | null> {
    const found = await stat(this.#path(sha256)).catch(notThere);
    if (found === null) return null;
    return found !== 'unusable' && found.isFile() ? found.size : NO_FILE;
  }

  read(sha256: string, start: number, end: number): Readable {
    return piecesOf(this.#path(sha256), { start, end });
  }

  async addressOf(): Promise<null> {
    return null;
  }

  async directPut(): Promise<null> {
    return null;
  }

  lossOf(error: unknown): 'missing' | 'damaged' | null {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return 'missing';
    return code === 'EIO' || IN_THE_WAY.has(code ?? '') ? 'damaged' : null;
  }

  hash(sha256: string, onBytes?: (bytes: number) => void): Promise<string> {
    return hashOf(this.#path(sha256), onBytes);
  }

  async setAside(sha256: string): Promise<SetAside> {
    // What cannot be read is as good as damaged.
    const found = await this.hash(sha256).catch(
      (fault: NodeJS.ErrnoException) => fault.code ?? fault.message,
    );
    if (found === sha256) return 'whole';
    if (found === 'ENOENT') return 'gone';
    let aside = this.#aside(sha256);
    await rename(this.#path(sha256), aside).catch(() => {
      // What was put aside before may be a folder that stays.
      aside = `${aside}.${randomUUID()}`;
      return rename(this.#path(sha256), aside);
    });
    await syncFolder(dirname(aside));
    return { found, aside };
  }

  async isSetAside(sha256: string): Promise<boolean> {
    return (await lstat(this.#aside(sha256)).catch(notThere)) !== null;
  }

  async remove(sha256: string): Promise<number | null> {
    const found = await Promise.all(
      [this.#path(sha256), this.#aside(sha256)].map(async (path) => {
        const found = await stat(path).catch(() => lstat(path).catch(() => null));
        if (found === null) return undefined;
        await removeOne(path);
        return found.isFile() ? found.size : 0;
      }),
    );
    const sizes = found.filter((size) => size !== undefined);
    return sizes.length === 0 ? null : sizes.reduce((sum, size) => sum + size, 0);
  }

  async settle(hashes: readonly string[]): Promise<void> {
    const folders = new Set(hashes.map((sha256) => dirname(this.#path(sha256))));
    for (const folder of folders) await syncFolder(folder);
  }

  /** An upload under way has a mark until its artifact is recorded; so whoever looks for artifacts does so after. */
  async *list(): AsyncGenerator<Listed> {
    for await (const path of filesBelow(join(this.#root, 'objects'))) {
      if (basename(path) === MARK || dirname(path) === join(this.#root, COMING)) continue;
      const shown = relative(this.#root, path);
      const sha256 = basename(path).replace(/\.damaged$/, '');
      const belongs = isHash(sha256) && [objectPath(sha256), damagedPath(sha256)].includes(shown);
      if (belongs && (await stat(this.#markOf(sha256)).catch(() => null))) continue;
      yield { path: shown, sha256: belongs ? sha256 : null };
    }
  }

  #path(sha256: string): string {
    return join(this.#root, objectPath(sha256));
  }

  #aside(sha256: string): string {
    return join(this.#root, damagedPath(sha256));
  }

  #markOf(sha256: string): string {
    return join(this.#root, 'uploads', sha256);
  }
}

/** The size of what is no file. */
const NO_FILE = -1;
/** Faults of what lies in the place of an object and is no file: a folder, links in a circle, a socket, a device. */
const IN_THE_WAY: ReadonlySet<string> = new Set(['EISDIR', 'ELOOP', 'ENXIO', 'ENODEV']);

function notThere(fault: NodeJS.ErrnoException): null | 'unusable' {
  const { code = '' } = fault;
  if (code === 'ENOENT' || code === 'ENOTDIR') return null;
  if (IN_THE_WAY.has(code)) return 'unusable';
  throw fault;
}

/** Removes a file, or an empty folder. */
async function removeOne(path: string): Promise<void> {
  await rm(path, { force: true }).catch(async (fault: NodeJS.ErrnoException) => {
    if (fault.code !== 'ERR_FS_EISDIR') throw fault;
    await rmdir(path).catch((left: NodeJS.ErrnoException) => {
      if (left.code !== 'ENOTEMPTY' && left.code !== 'EEXIST') throw left;
    });
  });
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else yield path;
  }
}
