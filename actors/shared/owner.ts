import { access, chown, constants, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

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
    const [{ uid, gid }, own] = [await stat(dirname(path)), await stat(path)];
    if (own.uid !== uid) await chown(path, uid, gid);
  }
  await access(path, constants.R_OK | constants.W_OK);
}
