import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own that is small enough to be filled: a tmpfs. */
export class SmallDisk {
  readonly path: string;
  readonly #ballast: string;

  private constructor(path: string) {
    this.path = path;
    this.#ballast = join(path, 'ballast');
  }

  /** Null where this process may not mount. */
  static mount(mebibytes: number): SmallDisk | null {
    const path = mkdtempSync(join(tmpdir(), 'jq-small-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path], { stdio: 'pipe' });
      return new SmallDisk(path);
    } catch {
      rmdirSync(path);
      return null;
    }
  }

  /** Bytes that are free. */
  get free(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Writes until so many bytes are left; 0: until nothing more fits. */
  fill(left = 0): void {
    const file = openSync(this.#ballast, 'a');
    try {
      while (this.free > left) writeSync(file, Buffer.alloc(Math.min(64 * 1024, this.free - left)));
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'ENOSPC') throw fault;
    } finally {
      closeSync(file);
    }
  }

  /** Removes all that `fill` wrote. */
  clear(): void {
    rmSync(this.#ballast, { force: true });
  }

  unmount(): void {
    // Lazily, should somebody still have a file open.
    execFileSync('umount', ['-l', this.path], { stdio: 'pipe' });
    rmdirSync(this.path);
  }
}
