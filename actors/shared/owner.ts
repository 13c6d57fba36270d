import { opendirSync, type Stats, statSync } from 'node:fs';
import { access, constants, lchown, lstat, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a file that all who work in its folder have to open, if there is none: it belongs to the owner of the folder,
 * also where an administrator comes first, who is root beside a server of another user. One that is there is not opened:
 * to close it would end locks that this process holds on it.
 * @throws the system's error where it can neither be made nor be written
 */
export async function shareFile(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  if (process.geteuid?.() === 0) {
    const [{ uid, gid }, own] = [await stat(dirname(path)), await lstat(path)];
    // The owner may have put something else here under this name: another's file is not given away by it.
    if (own.uid !== uid && own.isFile() && own.nlink === 1) await lchown(path, uid, gid);
  }
  await access(path, constants.R_OK | constants.W_OK);
}

/**
 * Root becomes, for good, the user to whom both folders belong: what it leaves there is then that user's, and nothing that
 * this user put there leads root elsewhere. It stays root where they belong to different users, or are out of the reach
 * of theirs.
 * @param target a folder that may not be there yet: then it belongs to whom the one above does
 */
export function becomeOwner(source: string, target: string): void {
  if (process.geteuid?.() !== 0) return;
  const folders = [source, existing(target)];
  const [one, other] = folders.map(seen) as [Stats?, Stats?];
  if (!one || one.uid === 0 || other?.uid !== one.uid) return;
  try {
    process.seteuid?.(one.uid);
    for (const path of folders) opendirSync(path).closeSync();
    process.seteuid?.(0);
  } catch {
    process.seteuid?.(0);
    return;
  }
  process.setgroups?.([one.gid]);
  process.setgid?.(one.gid);
  process.setuid?.(one.uid);
}

/** The folder itself, or the nearest one above it that is there. */
function existing(path: string): string {
  const found = resolve(path);
  return seen(found) || found === dirname(found) ? found : existing(dirname(found));
}

/** Undefined for what is not there, or cannot be: who works with it says so. */
function seen(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
