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
  /** Its command ended with `--predict`, by which its owner says that it predicts, too. */
  predicts?: true;
}

/** Words at the end of a command by which its owner says what it can, and what they say. */
const ABILITIES = { '--serve': 'serves', '--predict': 'predicts' } as const;
type Ability = (typeof ABILITIES)[keyof typeof ABILITIES];

/** What is wrong with a description, in one line. */
export class RunnerError extends AppError {
  readonly code = 'bad_runner';
}

/**
 * The runner that `LIB=COMMAND` or `LIB@VERSION=COMMAND` describes: the worker takes jobs of type `LIB.run` and
 * declares package LIB. Last words `--serve` and `--predict` say that the command can be kept warm, and that it takes
 * jobs of type `LIB.predict`. COMMAND is split as a shell would
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
  const abilities = takeAbilities(words);
  const [program, ...args] = words.map((word) => anchored(word, folder));
  if (!program) throw new RunnerError(`the command of ${library} is empty`);
  return {
    library,
    command: [program, ...args],
    packages: { [library]: version ?? NO_VERSION },
    ...abilities,
  };
}

/** Takes what says what the command can off its end. */
function takeAbilities(words: string[]): Partial<Record<Ability, true>> {
  const found: Partial<Record<Ability, true>> = {};
  for (let word = words.at(-1) ?? ''; words.length > 1 && isAbility(word); word = words.at(-1) ?? '') {
    found[ABILITIES[word]] = true;
    words.pop();
  }
  return found;
}

const isAbility = (word: string): word is keyof typeof ABILITIES => Object.hasOwn(ABILITIES, word);

function anchored(word: string, folder: string): string {
  if (!(word.includes('/') || word.includes(sep)) || word.startsWith('-')) return word;
  const path = resolve(folder, word);
  return existsSync(path) && statSync(path).isFile() ? path : word;
}
