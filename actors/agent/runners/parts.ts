import { access, constants, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WorkerFault } from '../failure.ts';

/** The files that a command of a runner names, as far as they are there: what may be gone later. */
export async function partsOf(command: readonly string[]): Promise<string[]> {
  const paths = command
    .map((word) => (word.startsWith('file://') && URL.canParse(word) ? fileURLToPath(word) : word))
    .filter((word) => isAbsolute(word));
  const there = await Promise.all(paths.map(isFile));
  return paths.filter((_, i) => there[i]);
}

/** The fault that one of these files has gone since; null while all are there. */
export async function missingPart(parts: readonly string[]): Promise<WorkerFault | null> {
  for (const part of parts) {
    if (!(await isFile(part))) {
      return new WorkerFault(`this worker cannot start the runner: ${part} is gone`, { own: true });
    }
  }
  return null;
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );

/** Whether there is such a program, looked for as the system does: a name on the path, a path as it stands. */
export async function isProgram(program: string): Promise<boolean> {
  const folders = program.includes('/') ? [''] : (process.env.PATH ?? '').split(delimiter);
  for (const folder of folders) {
    const path = folder === '' ? program : join(folder, program);
    const isOne = await Promise.all([stat(path), access(path, constants.X_OK)]).then(
      ([found]) => found.isFile(),
      () => false,
    );
    if (isOne) return true;
  }
  return false;
}
