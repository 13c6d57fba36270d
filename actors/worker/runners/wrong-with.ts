import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Runner } from '../config.ts';
import { childEnvironment } from '../environment.ts';
import { findProgram } from './programs.ts';
import type { RunnerFiles } from './runner-files.ts';

/** To load a large library from a share takes its time. */
const CHECK_MS = 120_000;
const LONGEST = 500;

/**
 * Tries a runner, as far as that can be done without a task.
 * @returns why it cannot run any, in words for people; null where nothing is known against it
 */
export async function wrongWith(
  { library, command, check }: Runner,
  files: RunnerFiles | undefined,
  signal: AbortSignal,
): Promise<string | null> {
  const broken = await files?.broken(true);
  if (broken) return broken.message;
  const [program = ''] = command;
  if ((await findProgram(program)) === null)
    return `the runner of ${library} cannot be started: no program '${program}'`;
  const [checker, ...args] = check ?? [];
  if (checker === undefined) return null;
  const options = { env: childEnvironment(), timeout: CHECK_MS, killSignal: 'SIGKILL', signal } as const;
  const doesNot = `the runner of ${library} does not work`;
  return promisify(execFile)(checker, args, options).then(
    // As another program does that was put into the place of this one.
    ({ stdout }) => (stdout.trim() === '' ? `${doesNot}: ${checker} says nothing` : null),
    (error: Error & { stderr?: string; code?: number | string; killed?: boolean }) => {
      const said = (error.stderr ?? '').trim().split('\n').at(-1);
      const how = typeof error.code === 'number' ? `exit code ${error.code}` : error.message;
      const why = error.killed ? `it has not ended in ${CHECK_MS / 1000} s` : said || how;
      return `${doesNot}: ${why.slice(0, LONGEST)}`;
    },
  );
}
