import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ownError } from './attempt/failure.ts';
import { cacheFolder } from './attempt/paths.ts';
import type { Runner, Settings } from './config.ts';
import { probeDisk } from './disk.ts';
import { childEnvironment } from './environment.ts';
import { readIndexFile } from './inputs/catalog/read-index.ts';
import { isProgram, missingPart } from './runners/parts.ts';

/** To load a large library from a share takes its time. */
const CHECK_MS = 120_000;
const LONGEST = 500;

/** What is looked at. */
export interface Looked {
  settings: Settings;
  /** The files that the runner of a library is made of. */
  partsOf(library: string): readonly string[];
}

/**
 * Looks whether this worker could run tasks: its disk, its runners with their libraries, and what its owner declared.
 * @returns what is wrong, in words for people; null when nothing is
 */
export async function selfTest({ settings, partsOf }: Looked, signal: AbortSignal): Promise<string | null> {
  const { state, cacheDir, catalog, datasets, runners } = settings;
  try {
    await probeDisk(state);
    if (cacheDir !== cacheFolder(state)) await probeDisk(cacheDir);
  } catch (error) {
    return (ownError(error) ?? (error as Error)).message;
  }
  for (const runner of runners) {
    const wrong = await wrongWith(runner, partsOf(runner.library), signal);
    if (wrong !== null) return wrong;
  }
  for (const [name, path] of Object.entries(datasets)) {
    const isThere = await access(path, constants.R_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) return `dataset '${name}' cannot be read: ${path}`;
  }
  if (catalog === undefined) return null;
  return readIndexFile(catalog).then(
    () => null,
    (error: Error) => error.message,
  );
}

async function wrongWith(
  { library, command, check }: Runner,
  parts: readonly string[],
  signal: AbortSignal,
): Promise<string | null> {
  const gone = await missingPart(parts);
  if (gone !== null) return gone.message;
  const [program = ''] = command;
  if (!(await isProgram(program)))
    return `the runner of ${library} cannot be started: no program '${program}'`;
  const [checker, ...args] = check ?? [];
  if (checker === undefined) return null;
  const options = { env: childEnvironment(), timeout: CHECK_MS, killSignal: 'SIGKILL', signal } as const;
  return promisify(execFile)(checker, args, options).then(
    () => null,
    (error: Error & { stderr?: string }) => {
      const said = (error.stderr ?? '').trim().split('\n').at(-1) || error.message;
      return `the runner of ${library} does not work: ${said.slice(0, LONGEST)}`;
    },
  );
}
