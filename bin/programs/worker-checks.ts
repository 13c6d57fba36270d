import { access, constants, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Runner } from '../../actors/worker/config.ts';
import { checkCatalog } from '../../actors/worker/inputs/catalog/read-index.ts';
import { findProgram } from '../../actors/worker/runners/programs.ts';
import { StartError } from '../../machines/protocol/start-error.ts';

interface Named {
  runners: readonly Runner[];
  datasets?: Readonly<Record<string, string>> | undefined;
  catalog?: string | undefined;
}

/**
 * Looks at everything that a worker's command line names before the worker offers it: tasks that were led here
 * would fail for good. What may come to work by itself, such as an address that does not answer, is a warning.
 * @throws StartError
 */
export async function checkNamed({ runners, datasets = {}, catalog }: Named, log: Logger): Promise<void> {
  for (const runner of runners) await checkRunner(runner, log);
  for (const [name, path] of Object.entries(datasets)) {
    await access(path, constants.R_OK).catch((fault: NodeJS.ErrnoException) => {
      throw new StartError('input_unusable', `--dataset ${name}: ${reasonOf(fault)}: ${resolve(path)}`);
    });
  }
  if (catalog === undefined) return;
  const warnings = await checkCatalog(catalog).catch((error: Error) => {
    throw new StartError('input_unusable', `--catalog: ${error.message}`);
  });
  for (const why of warnings) log.warn({ why }, 'the catalog is not as it should be');
}

const reasonOf = ({ code }: NodeJS.ErrnoException): string =>
  code === 'ENOENT' || code === 'ENOTDIR' ? 'there is no such file or folder' : `it cannot be read (${code})`;

async function checkRunner({ library, command }: Runner, log: Logger): Promise<void> {
  const [program = '', ...args] = command;
  if ((await findProgram(program)) === null) {
    throw new StartError('runner_unusable', `--runner: there is no program '${program}' (for ${library})`);
  }
  for (const word of args.filter((arg) => /^\.{0,2}\//.test(arg))) {
    await stat(word).catch(() =>
      log.warn({ library, word }, 'a word of the command of a runner names no file that is there'),
    );
  }
}
