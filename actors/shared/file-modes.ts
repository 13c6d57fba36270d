import { chmod, lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';

/** What group and others may do. */
const OTHERS = 0o077;

/**
 * From now on everything that this process makes is for its user alone, whatever umask it was started with: folders
 * are 0700 and files 0600, also those of its libraries (the store's log beside the store) and of its children.
 */
export function setPrivateUmask(): void {
  if (process.platform !== 'win32') process.umask(OTHERS);
}

/** What a server or a worker keeps in the top of its state directory. */
const OWN =
  /^((store|lock|objects-lock)\.sqlite|worker\.(lock|json)|token-uses\.json)(-\w+|\.\w+)?$|^(objects|uploads|tasks|outbox|cache)$/;

/**
 * Takes from others what an earlier version, or somebody else, let them do in a state directory. What lies at its top
 * and is a program's own becomes private; the directory itself does where nothing else is in it, since it may be one
 * that others have to get into, such as /tmp. Then, and where the system does not let it, a warning is all.
 * On Windows, which has no modes, nothing is said and done.
 */
export async function restrictAccess(stateDir: string, log: Logger): Promise<void> {
  if (process.platform === 'win32') return;
  const names = await readdir(stateDir);
  const own = names.filter((name) => OWN.test(name));
  const closed: string[] = [];
  for (const name of own) if (await narrow(join(stateDir, name))) closed.push(name);
  if (own.length === names.length && (await narrow(stateDir))) closed.push('.');
  if (closed.length > 0) {
    log.warn({ state: stateDir, closed }, 'the state directory was open to others; it is not any more');
  }
  const mode = await othersOf(stateDir);
  if (mode !== null) {
    log.warn(
      { state: stateDir, mode },
      `the state directory is open to others (${mode}): chmod 700 ${stateDir}`,
    );
  }
}

/** Takes all from group and others; whether there was something to take and it could be taken. */
async function narrow(path: string): Promise<boolean> {
  if ((await othersOf(path)) === null) return false;
  const { mode } = await lstat(path);
  await chmod(path, mode & 0o700).catch(() => {});
  return (await othersOf(path)) === null;
}

/** The mode as four digits where it lets group or others do something; null else. A link has none of its own. */
async function othersOf(path: string): Promise<string | null> {
  const found = await lstat(path).catch(() => null);
  if (found === null || found.isSymbolicLink() || (found.mode & OTHERS) === 0) return null;
  return modeText(found.mode);
}

const modeText = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, '0');

/**
 * The mode of a file of secrets as four digits where others than its user can read it; null else. That a group can is
 * fine where it is the way in which this process can: the file is another user's.
 */
export async function readableByOthers(path: string): Promise<string | null> {
  if (process.platform === 'win32') return null;
  const found = await stat(path).catch(() => null);
  if (!found?.isFile()) return null;
  const readers = found.uid === process.getuid?.() ? 0o044 : 0o004;
  return (found.mode & readers) === 0 ? null : modeText(found.mode);
}
