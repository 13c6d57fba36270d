import { access, constants, stat } from 'node:fs/promises';
import { posix, win32 } from 'node:path';

/** Where the system finds a program; null where it finds none. An empty file is none, although a shell would run it. */
export async function findProgram(program: string): Promise<string | null> {
  for (const path of placesOf(program, process.env.PATH)) {
    const isOne = await Promise.all([stat(path), access(path, constants.X_OK)]).then(
      ([found]) => found.isFile() && found.size > 0,
      () => false,
    );
    if (isOne) return path;
  }
  return null;
}

/**
 * Where the system looks for a program: a name on the path, a path as it stands; on Windows also with the endings
 * that programs have there and that nobody writes.
 */
export function placesOf(program: string, path = '', platform: NodeJS.Platform = process.platform): string[] {
  const isWindows = platform === 'win32';
  const rules = isWindows ? win32 : posix;
  const isPath = isWindows ? /[\\/:]/.test(program) : program.includes('/');
  const folders = isPath ? [''] : path.split(rules.delimiter);
  const names = isWindows ? [program, `${program}.com`, `${program}.exe`] : [program];
  return folders.flatMap((folder) => names.map((name) => (folder === '' ? name : rules.join(folder, name))));
}
