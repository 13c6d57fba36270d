import { existsSync, statSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { NO_VERSION } from '../../../../machines/matching/library-version.ts';
import { AppError } from '../../../../machines/protocol/app-error.ts';
import { splitCommand } from './split.ts';

/** A runner that the owner of the worker brings: any program that follows the runner protocol. */
export interface ExternalRunner {
  library: string;
  command: readonly [string, ...string[]];
  packages: Readonly<Record<string, string>>;
  /** Its command ended with `--serve`, by which its owner says that it can be kept warm. */
  serves?: true;
}

const SERVE = '--serve';

/** What is wrong with a description, in one line. */
export class RunnerError extends AppError {
  readonly code = 'bad_runner';
}

/**
 * The runner that `LIB=COMMAND` or `LIB@VERSION=COMMAND` describes: the worker takes jobs of type `LIB.run` and
 * declares package LIB. A last word `--serve` says that the command can be kept warm. COMMAND is split as a shell would
 * (see `splitCommand`), but no shell runs it. Tasks run in a directory of their own, therefore words that name an
 * existing file by a path, such as `./mean.py`, are counted from `folder`.
 *
 * @param folder what relative paths are counted from; the worker's working directory
 * @throws RunnerError
 */
export function externalRunner(text: string, folder = process.cwd()): ExternalRunner {
  const found = /^(?<library>[^=@]*)(?:@(?<version>[^=]*))?=(?<command>.*)$/s.exec(text)?.groups;
  if (!found) throw new RunnerError(`'${text}' is not of the form LIB=COMMAND or LIB@VERSION=COMMAND`);
  const { library = '', version, command = '' } = found;
  if (!/^[a-z][a-z0-9_]*$/.test(library)) {
    throw new RunnerError(
      `'${library}' is not a library name: a small letter, then small letters, digits and _`,
    );
  }
  if (version !== undefined && !/^[0-9A-Za-z][\w.!+-]*$/.test(version)) {
    throw new RunnerError(`'${version}' is not a version (of ${library})`);
  }
  const words = splitCommand(command);
  if (words === null)
    throw new RunnerError(
      `the command of ${library}: a quotation mark is not closed, or a backslash ends it`,
    );
  const serves = words.length > 1 && words.at(-1) === SERVE;
  const [program, ...args] = (serves ? words.slice(0, -1) : words).map((word) => anchored(word, folder));
  if (!program) throw new RunnerError(`the command of ${library} is empty`);
  return {
    library,
    command: [program, ...args],
    packages: { [library]: version ?? NO_VERSION },
    ...(serves && { serves }),
  };
}

function anchored(word: string, folder: string): string {
  if (!(word.includes('/') || word.includes(sep)) || word.startsWith('-')) return word;
  const path = resolve(folder, word);
  return existsSync(path) && statSync(path).isFile() ? path : word;
}
