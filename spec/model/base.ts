import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where state directories of many short runs are made: in memory where there is such a place, since an fsync then
 * costs nothing and the figures are the program's own. */
export function fastFolder(): string {
  try {
    accessSync('/dev/shm', constants.W_OK | constants.X_OK);
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
}

/** A folder of this process for its state directories, which goes with it. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(fastFolder(), 'jq-spec-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
