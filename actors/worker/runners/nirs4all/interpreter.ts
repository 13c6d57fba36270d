import { execFile } from 'node:child_process';
import { isAbsolute, resolve } from 'node:path';
import { AppError } from '../../../../machines/protocol/app-error.ts';
import { withoutToken } from '../../environment.ts';

/** What a Python interpreter says that it is and has. */
export interface Interpreter {
  /** Absolute path; in a virtual environment, the environment's own. */
  executable: string;
  /** Such as `3.11.4`. */
  version: string;
  /** Those of `ASKED_PACKAGES` that are installed, with their versions. */
  packages: Readonly<Record<string, string>>;
}

/** Why an interpreter gave no answer, in one line that names it. */
export class InterpreterError extends AppError {
  readonly code = 'bad_interpreter';
}

/** What tasks of this job type may require, and the distributions that bring it where the name differs. */
const ASKED_PACKAGES = {
  nirs4all: ['nirs4all'],
  numpy: ['numpy'],
  scipy: ['scipy'],
  'scikit-learn': ['scikit-learn'],
  pandas: ['pandas'],
  polars: ['polars'],
  torch: ['torch'],
  tensorflow: ['tensorflow', 'tensorflow-cpu', 'tensorflow-intel', 'tensorflow-macos'],
  jax: ['jax'],
} as const;

// Reads the installed packages' metadata: to import torch or tensorflow for a version would take many seconds.
// The empty path entry goes: a folder that the worker happens to be started in declares nothing.
const QUESTION = `
import json, platform, sys
from importlib import metadata
sys.path[:] = [folder for folder in sys.path if folder]
found = {}
for name, distributions in json.loads(sys.argv[1]).items():
    for distribution in distributions:
        try:
            found.setdefault(name, str(metadata.version(distribution)))
        except metadata.PackageNotFoundError:
            pass
print()
print(json.dumps({"executable": sys.executable or "", "version": platform.python_version(), "packages": found}))
`;

/** What the interpreter of a system is called; installers for Windows make no `python3`. */
export const USUAL_PYTHON = process.platform === 'win32' ? 'python' : 'python3';

/** Generous: an interpreter on a network share may take its time. */
const TIMEOUT_MS = 30_000;

/**
 * Asks an interpreter what it is and has. Starts one short process that imports nothing but the standard library.
 *
 * @param python a program name, looked for on the path, or a path, relative to the working directory
 * @throws InterpreterError if there is no such program, if it is no Python 3.8 or newer, or if it does not
 *   answer within `timeoutMs` milliseconds
 */
export async function askInterpreter(python: string, timeoutMs = TIMEOUT_MS): Promise<Interpreter> {
  const env = withoutToken();
  const args = ['-c', QUESTION, JSON.stringify(ASKED_PACKAGES)];
  const answer = await new Promise<string>((found, fail) => {
    execFile(python, args, { env, timeout: timeoutMs, killSignal: 'SIGKILL' }, (fault, stdout, stderr) => {
      if (fault) fail(new InterpreterError(reasonOf(python, fault, stderr, timeoutMs)));
      else found(stdout);
    });
  });
  // What a site customisation prints comes before it.
  const line = answer.trimEnd().split('\n').at(-1) ?? '';
  try {
    const declared = JSON.parse(line) as Interpreter;
    if (typeof declared.version !== 'string' || typeof declared.packages !== 'object') throw new TypeError();
    return {
      ...declared,
      executable: isAbsolute(declared.executable) ? declared.executable : resolve(python),
    };
  } catch {
    throw new InterpreterError(`'${python}' does not answer like a Python interpreter`);
  }
}

function reasonOf(
  python: string,
  error: Error & { code?: unknown; killed?: boolean },
  stderr: string,
  timeoutMs: number,
): string {
  if (error.code === 'ENOENT') return `there is no Python interpreter '${python}'`;
  if (error.code === 'EACCES') return `the Python interpreter '${python}' may not be executed`;
  if (error.killed) return `the Python interpreter '${python}' did not answer within ${timeoutMs / 1000} s`;
  const last = stderr.trim().split('\n').at(-1) ?? '';
  return `the Python interpreter '${python}' does not work: ${last || `exit code ${String(error.code)}`}`;
}
