import { access, constants } from 'node:fs/promises';
import { ownError } from './attempt/failure.ts';
import { cacheFolder } from './attempt/paths.ts';
import type { Settings } from './config.ts';
import { probeDisk } from './disk.ts';
import { readIndexFile } from './inputs/catalog/read-index.ts';
import type { RunnerFiles } from './runners/runner-files.ts';
import { wrongWith } from './runners/wrong-with.ts';

/** What is looked at. */
export interface Looked {
  settings: Settings;
  /** The files that the runner of a library is made of. */
  filesOf(library: string): RunnerFiles | undefined;
}

/**
 * Looks whether this worker could run tasks: its disk, its runners with their libraries, and what its owner declared.
 * @returns what is wrong, in words for people; null when nothing is
 */
export async function selfTest({ settings, filesOf }: Looked, signal: AbortSignal): Promise<string | null> {
  const { state, cacheDir, catalog, datasets, runners } = settings;
  try {
    await probeDisk(state);
    if (cacheDir !== cacheFolder(state)) await probeDisk(cacheDir);
  } catch (error) {
    return (ownError(error) ?? (error as Error)).message;
  }
  for (const runner of runners) {
    const wrong = await wrongWith(runner, filesOf(runner.library), signal);
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
