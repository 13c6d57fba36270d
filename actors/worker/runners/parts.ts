import { access, constants, stat } from 'node:fs/promises';
import { isAbsolute, posix, win32 } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WorkerError } from '../errors.ts';

/** The files that a command of a runner names, as far as they are there: what may be gone later. */
export async function partsOf(command: readonly string[]): Promise<string[]> {
  const paths = command
    .map((word) => (word.startsWith('file://') && URL.canParse(word) ? fileURLToPath(word) : word))
    .filter((word) => isAbsolute(word));
  const there = await Promise.all(paths.map(isFile));
  return paths.filter((_, i) => there[i]);
}

/** The fault that one of these files has gone since; null while all are there. */
export async function missingPart(parts: readonly string[]): Promise<WorkerError | null> {
  for (const part of parts) {
    if (!(await isFile(part))) {
      return new WorkerError(`this worker cannot start the runner: ${part} is gone`, { own: true });
    }
  }
  return null;
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );

/** Whether there is such a program, looked for as the system does. */
export async function isProgram(program: string): Promise<boolean> {
  for (const path of placesOf(program, process.env.PATH)) {
    const isOne = await Promise.all([stat(path), access(path, constants.X_OK)]).then(
      ([found]) => found.isFile(),
      () => false,
    );
    if (isOne) return true;
  }
  return false;
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
